package exported_test

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/exported"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-03-02 "+clock+":00")
	if err != nil {
		panic(err)
	}
	return t
}

const (
	trigger  = int64(1772443680000)
	backfill = int64(1772443690000)
)

// report was exported at 09:29, when a trigger and the rest of a backfill waited.
func report() exported.CronJob {
	return exported.CronJob{
		Namespace: "shop", Name: "report", UID: "uid-report", Schedule: "0 * * * *", Ledger: []ledger.Entry{started("09:29", "last"), started("09:00", "a")},
		Triggers: []schedule.Trigger{{Sequence: trigger, At: at("09:28").Add(250 * time.Millisecond), TriggerRequest: schedule.TriggerRequest{
			Note: "once more", Overlap: ostinatov1.QueueConcurrent, Asked: ledger.Asked{By: "bob", User: "ada", Through: ledger.ThroughUpdate},
		}}},
		Backfills: []protocol.Backfill{{
			Sequence: backfill, Times: 3, Total: 5, Next: at("02:00"), Last: at("04:00"), Parallelism: 2, Overlap: "Allow", Note: "the bank asked", By: "bob",
		}},
	}
}

func started(clock, job string) ledger.Entry {
	return ledger.Entry{Scheduled: at(clock), Recorded: at(clock), Outcome: ledger.Started, Job: job}
}

func manual(clock string, sequence int64, outcome ledger.Outcome) ledger.Entry {
	return ledger.Entry{Scheduled: at(clock), Outcome: outcome, Manual: true, Sequence: sequence}
}

func jobOf(sequence int64, clock string) batchv1.Job {
	made := batchv1.Job{}
	made.Name = names.BackfilledJob("report", "uid-report", sequence, at(clock))
	made.Annotations = map[string]string{names.BackfillAnnotation: strconv.FormatInt(sequence, 10), names.ScheduledTimestampAnnotation: at(clock).Format(time.RFC3339)}
	return made
}

// What waited is asked for again unless something shows that it was decided, or may have been.
func TestWhatIsAskedForAgain(t *testing.T) {
	ran := names.TriggeredJob("report", "uid-report", trigger)
	rows := func(rows ...ledger.Entry) func(*exported.CronJob, *exported.Known) {
		return func(_ *exported.CronJob, known *exported.Known) { known.Rows = append(known.Rows, rows...) }
	}
	// Ten rows from 09:30 on do not say what has run since 09:29.
	later := func(_ *exported.CronJob, known *exported.Known) {
		for n := range 10 {
			known.Rows = append(known.Rows, started(fmt.Sprintf("09:%d", 30+n), fmt.Sprint("report-", n)))
		}
	}
	for name, test := range map[string]struct {
		given             func(*exported.CronJob, *exported.Known)
		trigger, backfill string
	}{
		"nothing has run since": {rows(started("09:00", "a")), "", "02:00"},
		"other runs since":      {rows(started("09:00", "a"), started("09:30", "b")), "", "02:00"},
		"they wait still": {func(_ *exported.CronJob, known *exported.Known) {
			known.Description.Triggers = []schedule.Trigger{{Sequence: trigger}}
			known.Description.Backfills = []protocol.Backfill{{Sequence: backfill}}
		}, "waits still", "waits still"},
		"the ledger has their runs, from a status": {rows(started("09:30", ran), started("02:00", jobOf(backfill, "02:00").Name)), "has its outcome", "02:00:01"},
		"the ledger has their outcomes":            {rows(manual("09:28", trigger, ledger.SkippedOverlap), manual("02:00", backfill, ledger.SkippedSuperseded)), "has its outcome", "has its outcome"},
		"the status has their outcomes": {func(_ *exported.CronJob, known *exported.Known) {
			cancelled := manual("03:00", 0, ledger.SkippedSuperseded)
			cancelled.Until, cancelled.Count = at("04:00"), 2
			known.Rows = []ledger.Entry{manual("09:28", 0, ledger.SkippedOverlap), cancelled}
		}, "has its outcome", "has its outcome"},
		"the status has those of others": {func(_ *exported.CronJob, known *exported.Known) {
			known.Rows = []ledger.Entry{manual("09:27", 0, ledger.SkippedOverlap), manual("03:00", 0, ledger.SkippedSuperseded)}
		}, "", "02:00"},
		"they were asked for again, and wait": {func(_ *exported.CronJob, known *exported.Known) {
			known.Description.Triggers = []schedule.Trigger{{Sequence: 7, TriggerRequest: schedule.TriggerRequest{Note: "once more (import-trigger-1772443680000)"}}}
			known.Description.Backfills = []protocol.Backfill{{Sequence: 8, Note: "(import-backfill-1772443690000)"}}
		}, "has its outcome", "has its outcome"},
		"they were asked for again and ran, and Temporal's data was lost again": {func(_ *exported.CronJob, known *exported.Known) {
			known.Rows = []ledger.Entry{manual("09:40", 0, ledger.Started), manual("02:00", 0, ledger.Started)}
			known.Rows[0].Job, known.Rows[0].Message = "other", "once more (import-trigger-1772443680000)"
			known.Rows[1].Job, known.Rows[1].Message = "another", "backfill: the bank asked (import-backfill-1772443690000)"
		}, "has its outcome", "has its outcome"},
		"a time of the backfill was refused": {rows(manual("02:00", backfill, ledger.FailedToCreate)), "", "02:00"},
		"the file has their outcomes": {func(one *exported.CronJob, _ *exported.Known) {
			one.Ledger = []ledger.Entry{manual("09:28", trigger, ledger.Started), manual("02:00", backfill, ledger.SkippedSuperseded)}
		}, "has its outcome", "has its outcome"},
		"the file has the row that says that it waits": {func(one *exported.CronJob, _ *exported.Known) {
			one.Ledger = append(one.Ledger, manual("09:28", trigger, ledger.Queued))
		}, "", "02:00"},
		"there are their Jobs": {func(_ *exported.CronJob, known *exported.Known) {
			known.Jobs = []batchv1.Job{jobOf(backfill, "03:00"), jobOf(backfill+1, "04:00"), jobOf(trigger, "04:00")}
			known.Jobs[2].Name = ran
		}, "has its outcome", "03:00:01"},
		"all of the backfill has run": {func(_ *exported.CronJob, known *exported.Known) { known.Jobs = []batchv1.Job{jobOf(backfill, "04:00")} }, "", "has its outcome"},
		"a Job that names the backfill and is none of its own": {func(_ *exported.CronJob, known *exported.Known) {
			known.Jobs = []batchv1.Job{jobOf(backfill, "04:00")}
			known.Jobs[0].Name = "mine"
		}, "", "02:00"},
		"a Job is active by the status": {func(_ *exported.CronJob, known *exported.Known) {
			known.Object.Status.Active = []corev1.ObjectReference{{Name: ran}}
		}, "has its outcome", "02:00"},
		"ten rows do not reach back": {later, "may have run", "may have run"},
		"nor do rows that were imported": {func(one *exported.CronJob, known *exported.Known) {
			later(one, known)
			before := started("09:00", "a")
			before.Imported = true
			known.Rows = append(known.Rows, before)
		}, "may have run", "may have run"},
		"ten rows reach back": {func(one *exported.CronJob, known *exported.Known) {
			later(one, known)
			known.Rows = append(known.Rows, started("09:29", "last"))
		}, "", "02:00"},
		"a row of the export that says that it waits does not reach": {func(one *exported.CronJob, known *exported.Known) {
			later(one, known)
			one.Ledger = append(one.Ledger, manual("09:45", trigger, ledger.Queued))
		}, "may have run", "may have run"},
		"ten rows, and none in the export": {func(one *exported.CronJob, known *exported.Known) {
			later(one, known)
			one.Ledger = nil
		}, "may have run", "may have run"},
		"a ledger that has dropped rows": {func(_ *exported.CronJob, known *exported.Known) {
			known.Rows, known.Dropped = []ledger.Entry{started("09:00", "a")}, 1
		}, "may have run", "may have run"},
		"another schedule": {func(_ *exported.CronJob, known *exported.Known) { known.Object.Spec.Schedule = "5 * * * *" }, "", "of another schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			one, known := report(), exported.Known{Object: &ostinatov1.CronJob{}}
			known.Object.Spec.Schedule = one.Schedule
			test.given(&one, &known)
			requests, left := one.Waiting(known)
			got := map[string]string{"trigger": "", "backfill": ""}
			for _, request := range requests {
				if request.Backfill != nil {
					got["backfill"] = strings.TrimSuffix(request.Backfill.From.Format("15:04:05"), ":00")
				}
			}
			for _, one := range left {
				got[strings.Fields(one.What)[1]] = one.Why
			}
			for what, want := range map[string]string{"trigger": test.trigger, "backfill": test.backfill} {
				assert.Contains(t, got[what], want, what)
				assert.Equal(t, want == "", got[what] == "", what)
			}
			assert.Equal(t, 2, len(requests)+len(left))
		})
	}
}

// It is asked for as it was, and the row that says so is one that a ledger takes.
func TestWhatWaitedIsAskedForAsItWas(t *testing.T) {
	one, known := report(), exported.Known{Object: &ostinatov1.CronJob{}}
	known.Object.Spec.Schedule = one.Schedule
	requests, _ := one.Waiting(known)
	require.Len(t, requests, 2)
	assert.Equal(t, protocol.TriggerRequest{SignalNote: protocol.SignalNote{Note: "once more (import-trigger-1772443680000)", By: "ada"}, Overlap: "Queue"}, *requests[0].Trigger)
	assert.Equal(t, schedule.BackfillRequest{From: at("02:00"), To: at("04:00"), Parallelism: 2, Overlap: "Allow", Note: "the bank asked (import-backfill-1772443690000)", By: "bob"}, *requests[1].Backfill)
	state := schedule.State{}
	for _, request := range requests {
		var answer schedule.ImportAnswer
		state, answer = schedule.Import(state, []ledger.Entry{request.Asked}, at("09:40"))
		assert.Equal(t, schedule.ImportAnswer{Imported: 1}, answer)
	}
	known.Rows = state.Ledger.Imported
	requests, left := one.Waiting(known)
	assert.Empty(t, requests, "another import asks for nothing")
	assert.Len(t, left, 2)
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	var file strings.Builder
	writer, err := exported.NewWriter(&file, at("09:29"))
	require.NoError(t, err)
	require.NoError(t, writer.Add(report()))
	require.NoError(t, writer.Add(exported.CronJob{Name: "other", Ledger: []ledger.Entry{started("09:00", "<a>")}}))
	reader, err := exported.NewReader(strings.NewReader(strings.ReplaceAll(file.String(), "\n", "\n\n")))
	require.NoError(t, err)
	one, err := reader.Next()
	require.NoError(t, err)
	assert.Equal(t, report(), one)
	other, err := reader.Next()
	require.NoError(t, err)
	assert.Equal(t, "<a>", other.Ledger[0].Job)
	_, err = reader.Next()
	assert.Equal(t, io.EOF, err)
}

func TestAFileThatCanNotBeReadSaysWhy(t *testing.T) {
	const header = `{"format": "ostinato-export", "version": 1}` + "\n"
	for name, test := range map[string]struct{ file, want string }{
		"nothing":               {"", "no file of ostinato export"},
		"another file":          {"kind: CronJob\n", "no file of ostinato export"},
		"other JSON":            {`{"kind": "List"}`, "no file of ostinato export"},
		"a later version":       {`{"format": "ostinato-export", "version": 2}`, "has version 2, and this command reads version 1"},
		"a line that is cut":    {header + `{"namespace": "shop", "name"`, "line 2: unexpected end"},
		"a line without an end": {header + strings.Repeat("x", 65<<20), "line 2: bufio.Scanner: token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exported.NewReader(strings.NewReader(test.file))
			if err == nil {
				_, err = reader.Next()
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}
