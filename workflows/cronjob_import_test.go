package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// exported is an export of the runs of the minutes before cronStart, newest first. The object's status has three of them.
func exported(k *cronJobKube, minutes int) protocol.RestoreLedgerRequest {
	k.created = cronStart.Add(-24 * time.Hour)
	k.status.AccountedUntil = &metav1.Time{Time: cronStart}
	request := protocol.RestoreLedgerRequest{UID: hello.UID}
	for n := range minutes {
		scheduled := cronStart.Truncate(time.Minute).Add(-time.Duration(n) * time.Minute)
		row := ledger.Entry{Scheduled: scheduled, Recorded: scheduled.Add(time.Second), Outcome: ledger.Started, Job: names.ScheduledJob("hello", scheduled)}
		row.End = ledger.End{Result: ledger.Complete, Ended: scheduled.Add(20 * time.Second)}
		request.Rows = append(request.Rows, row)
		if n < 3 {
			k.status.RecentRuns = append(k.status.RecentRuns, row.RecentRun())
		}
	}
	return request
}

// restored is the answer to the update.
type restored struct {
	answered
	answer protocol.RestoreLedgerAnswer
}

func (r *restored) Complete(result any, err error) {
	r.answer, _ = result.(protocol.RestoreLedgerAnswer)
	r.answered.Complete(result, err)
}

func (k *cronJobKube) restore(delay time.Duration, request any) *restored {
	r := &restored{}
	k.after(delay, func() { k.environment.UpdateWorkflow(protocol.RestoreLedgerUpdate, "", r, request) })
	return r
}

func TestALostLedgerIsGivenBack(t *testing.T) {
	k := newCronJobKube(t)
	export := exported(k, 100)
	dry := export
	dry.DryRun = true
	try, first, again := k.restore(time.Second, dry), k.restore(2*time.Second, export), k.restore(3*time.Second, export)
	var before, after protocol.LedgerPage
	question := protocol.LedgerQuestion{Limit: 200}
	k.after(1500*time.Millisecond, func() { before = k.ledger(question) })
	k.after(4*time.Second, func() {
		after = k.ledger(question)
		assert.Len(t, k.described().Status.RecentRuns, 3, "the status is of the ledger's own rows")
	})
	k.after(10*time.Minute, func() {
		if rows := k.ledger(question).Rows; len(rows) != 110 || rows[0].Imported || !rows[109].Imported {
			t.Errorf("%d rows later", len(rows))
		}
	})
	k.runUntil(11*time.Minute, cron("* * * * *", forbid))
	for name, r := range map[string]*restored{"dry": try, "first": first, "again": again} {
		require.NoError(t, r.rejected, name)
		require.NoError(t, r.failed, name)
	}
	assert.Equal(t, protocol.RestoreLedgerAnswer{Imported: 97, Known: 3}, try.answer)
	assert.Len(t, before.Rows, 3, "a dry run gives nothing back")
	assert.Equal(t, protocol.RestoreLedgerAnswer{Imported: 97, Known: 3}, first.answer)
	assert.Equal(t, protocol.RestoreLedgerAnswer{Known: 100}, again.answer)
	require.Len(t, after.Rows, 100)
	for n, row := range after.Rows {
		assert.Equal(t, n >= 3, row.Imported)
		row.Entry.Imported = false
		assert.Equal(t, export.Rows[n], row.Entry)
	}
	expectList(t, "runs", k.scheduled()[:2], "00:00", "01:00")
}

// The rows come while a run is started, whose plan has the ledger of before.
func TestALedgerIsGivenBackWhileARunStarts(t *testing.T) {
	k := newCronJobKube(t)
	export := exported(k, 20)
	var given *restored
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Start != nil && given == nil {
			given = &restored{}
			k.environment.UpdateWorkflow(protocol.RestoreLedgerUpdate, "", given, export)
		}
		return nil, nil
	}
	k.after(50*time.Second, func() { assert.Len(t, k.ledger().Rows, 21) })
	k.runUntil(time.Minute, cron("* * * * *", forbid))
	assert.Equal(t, 17, given.answer.Imported)
}

func TestAnExportThatIsNotTheCronJobsIsRefused(t *testing.T) {
	many := protocol.RestoreLedgerRequest{UID: hello.UID, Rows: make([]ledger.Entry, protocol.MaxRestoredRows+1)}
	crooked := protocol.RestoreLedgerRequest{UID: hello.UID, Rows: []ledger.Entry{{Job: "../../etc"}}}
	for name, test := range map[string]struct {
		request                  any
		prepare                  func(*cronJobKube)
		rejected, failed, answer string
	}{
		"of another object":      {request: protocol.RestoreLedgerRequest{UID: "other"}, failed: "has another uid: " + hello.UID},
		"too many rows":          {request: many, rejected: "301, want 300 at most"},
		"a Job that can't be":    {request: crooked, rejected: "name"},
		"a number":               {request: 7, rejected: "unable to decode"},
		"a bomb":                 {request: map[string]any{"gzip": strings.Repeat("x", 100)}, rejected: "unable to decode"},
		"rows of nothing":        {request: map[string]any{"uid": hello.UID, "rows": []map[string]any{{}, {"outcome": "Queued"}}}, answer: `outcome "" is none`},
		"an object that is gone": {request: protocol.RestoreLedgerRequest{UID: hello.UID}, prepare: func(k *cronJobKube) { k.gone = true; k.send(protocol.DeletedSignal, protocol.Deleted{UID: hello.UID}) }},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			if test.prepare != nil {
				k.after(2*time.Second, func() { test.prepare(k) })
			}
			r := k.restore(2*time.Second, test.request)
			k.after(5*time.Second, func() {
				if !k.gone {
					assert.Empty(t, k.ledger().Rows)
				}
			})
			k.runUntil(10*time.Second, cron("0 * * * *", allow))
			for what, pair := range map[string][2]any{"rejected": {r.rejected, test.rejected}, "failed": {r.failed, test.failed}} {
				if pair[1] == "" {
					continue
				}
				assert.Contains(t, fmt.Sprint(pair[0]), pair[1], what)
			}
			assert.Contains(t, r.answer.Why, test.answer)
			assert.Zero(t, r.answer.Imported)
			assert.True(t, r.done || r.rejected != nil, "it has an answer")
		})
	}
}

// What was imported outlives the workflow run.
func TestACronJobContinuesAsNewWithImportedRows(t *testing.T) {
	k := newCronJobKube(t)
	r := k.restore(2*time.Second, exported(k, 20))
	k.after(3*time.Second, func() {
		k.environment.SetContinueAsNewSuggested(true)
		k.send(protocol.JobSeenSignal, protocol.JobSeen{})
	})
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("0 * * * *", forbid)}))
	assert.Equal(t, 17, r.answer.Imported)
	assert.Len(t, next.State.Ledger.Imported, 17)
	assert.NoError(t, next.Validate())
}

// What waits is described in full, to be asked for again.
func TestWhatWaitsIsDescribed(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{time.Hour}
	k.updateOf(protocol.TriggerUpdate, 40*time.Second, protocol.TriggerRequest{SignalNote: protocol.SignalNote{Note: "once more", By: "ada"}, Overlap: ostinatov1.QueueConcurrent})
	k.update(41*time.Second, hours(3, 5, with("note", "lost")))
	k.after(50*time.Second, func() {
		described := k.described()
		require.Len(t, described.Triggers, 1)
		assert.Equal(t, schedule.TriggerRequest{
			Note: "once more", Overlap: ostinatov1.QueueConcurrent,
			Asked: ledger.Asked{By: "ada", Through: ledger.ThroughUpdate, Changed: "concurrencyPolicy Queue"},
		}, described.Triggers[0].TriggerRequest)
		require.Len(t, described.Backfills, 1)
		assert.Positive(t, described.Backfills[0].Sequence)
	})
	k.runUntil(time.Minute, cron("0 * * * *", forbid))
}
