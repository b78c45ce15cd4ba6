package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"go.temporal.io/sdk/converter"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// answered is the answer to an update.
type answered struct {
	rejected, failed error
	answer           protocol.BackfillAnswer
	trigger          protocol.TriggerAnswer
	done             bool
}

func (a *answered) Accept()          {}
func (a *answered) Reject(err error) { a.rejected = err }
func (a *answered) Complete(result any, err error) {
	a.done, a.failed = true, err
	switch answer := result.(type) {
	case protocol.BackfillAnswer:
		a.answer = answer
	case protocol.TriggerAnswer:
		a.trigger = answer
	}
}

// update sends the update "backfill" at a time since the workflow's start.
func (k *cronJobKube) update(delay time.Duration, argument any) *answered {
	return k.updateOf(protocol.BackfillUpdate, delay, argument)
}

func (k *cronJobKube) updateOf(name string, delay time.Duration, arguments ...any) *answered {
	a := &answered{}
	k.after(delay, func() { k.environment.UpdateWorkflow(name, "", a, arguments...) })
	return a
}

// hours is the argument for the times of hourly schedules from one hour of the day to
// another.
func hours(from, to int, more ...func(map[string]any)) map[string]any {
	day := cronStart.Truncate(24 * time.Hour)
	argument := map[string]any{"from": day.Add(time.Duration(from) * time.Hour), "to": day.Add(time.Duration(to) * time.Hour)}
	for _, add := range more {
		add(argument)
	}
	return argument
}

func with(name string, value any) func(map[string]any) {
	return func(argument map[string]any) { argument[name] = value }
}

func TestCronJobRunsTheTimesOfABackfill(t *testing.T) {
	k := newCronJobKube(t)
	k.update(2*time.Second, hours(3, 5, with("note", "lost"), with("by", "ada")))
	k.after(10*time.Second, func() {
		backfills := k.described().Backfills
		if len(backfills) != 1 || backfills[0].Times != 2 || backfills[0].Total != 3 || backfills[0].Next.Hour() != 4 || backfills[0].Note != "lost" || backfills[0].By != "ada" {
			t.Errorf("described as %+v", backfills)
		}
		if details := k.details(); !strings.Contains(details, "Backfill: 2 of 3 times to go, next 2126-01-02T04:00:00Z") {
			t.Errorf("details:\n%s", details)
		}
	})
	k.runUntil(20*time.Minute, cron("0 * * * *", forbid))
	var got []string
	for _, run := range k.jobs {
		got = append(got, run.Scheduled.Format("15:04 ")+run.Started.Format("15:04:05"))
	}
	// Each takes 20 s; the due run goes before the third.
	expectList(t, "runs", got, "03:00 09:59:32", "04:00 09:59:52", "10:00 10:00:12", "05:00 10:00:32")
	expectList(t, "events", k.reasons(), "SawCompletedJob", "JobAlreadyActive", "SawCompletedJob", "SawCompletedJob", "SawCompletedJob")
	if len(k.children) != 4 || k.children[0].Scheduled.Hour() != 3 {
		t.Errorf("children %+v", k.children)
	}
}

func TestCronJobBackfillByUpdate(t *testing.T) {
	k := newCronJobKube(t)
	dry := k.update(time.Second, hours(3, 5, with("dryRun", true)))
	real := k.update(2*time.Second, hours(3, 5, with("parallelism", 2), with("overlap", "Allow")))
	cancel := k.update(3*time.Second, map[string]any{"cancel": true, "by": "ada"})
	k.runUntil(10*time.Minute, cron("*/30 * * * *", forbid))
	for name, a := range map[string]*answered{"dry": dry, "real": real, "cancel": cancel} {
		if a.rejected != nil || a.failed != nil || !a.done {
			t.Fatalf("%s: %+v", name, a)
		}
	}
	if a := dry.answer; a.Accepted || !a.DryRun || a.Runs != 5 || a.First.Hour() != 3 || a.Last.Hour() != 5 || len(a.Times) != 5 {
		t.Errorf("dry: %+v", a)
	}
	if a := real.answer; !a.Accepted || a.DryRun || a.Runs != 5 {
		t.Errorf("real: %+v", a)
	}
	if a := cancel.answer; !a.Accepted || a.Cancelled != 3 {
		t.Errorf("cancelled: %+v", a)
	}
	expectList(t, "runs", k.scheduled(), "+00:00", "+30:00", "00:00")
	rows := k.rows()
	if !slices.Contains(rows, "SkippedSuperseded Cancelled 3") {
		t.Errorf("rows %q", rows)
	}
}

// rows are the ledger's rows as the status has them.
func (k *cronJobKube) rows() []string {
	var rows []string
	for _, row := range k.status.RecentRuns {
		text := row.Outcome + " " + row.Reason
		if row.Count > 1 {
			text += " " + string(rune('0'+row.Count))
		}
		rows = append(rows, text)
	}
	return rows
}

// The times of a backfill count from what the object says: what comes before that was read waits for it.
func TestCronJobABackfillWaitsUntilTheObjectWasRead(t *testing.T) {
	// The API server fails for ten seconds, and the object's times are 23:59:30, 03:59:30 and so on.
	k := newCronJobKube(t)
	k.created, k.status.AccountedUntil = cronStart.Add(-10*time.Hour), &metav1.Time{Time: cronStart}
	k.answer = func(cronJobRequest) (*cronJobResult, error) {
		if k.environment.Now().Before(cronStart.Add(10 * time.Second)) {
			return nil, errors.New("connection refused")
		}
		return nil, nil
	}
	spec, first := cron("@every 4h", forbid), cronStart.Add(-6*time.Hour)
	a := k.update(5*time.Second, map[string]any{"from": first.Add(-time.Minute), "to": first.Add(15 * time.Second)})
	k.runUntil(time.Minute, spec)
	if a.rejected != nil || a.failed != nil || !a.answer.Accepted || a.answer.Runs != 1 {
		t.Errorf("answer %+v", a)
	}
	expectList(t, "runs", k.scheduled(), "+59:30")
}

func TestCronJobRefusesAnUpdateInWords(t *testing.T) {
	for name, test := range map[string]struct {
		argument any
		prepare  func(*cronJobKube)
		rejected string
		failed   string
	}{
		"the future":       {argument: hours(3, 20), rejected: "is in the future"},
		"a misspelt field": {argument: hours(3, 5, with("paralel", 1)), rejected: `unknown field "paralel"`},
		"a number":         {argument: 7, rejected: "can't be read"},
		"a word":           {argument: "yesterday", rejected: "can't be read"},
		"a time in words":  {argument: map[string]any{"from": "monday", "to": "tuesday"}, rejected: "can't be read"},
		"nothing":          {argument: nil, rejected: "from and to are needed"},
		"a huge argument":  {argument: hours(3, 5, with("note", strings.Repeat("x", 9000))), rejected: "bytes: use 8192 at most"},
		"several at once":  {argument: hours(3, 5, with("parallelism", 3), with("overlap", "Forbid")), rejected: `ask for "overlap": "Allow"`},
		"too many":         {argument: map[string]any{"from": "2125-01-02T03:00:00Z", "to": "2126-01-02T03:00:00Z"}, rejected: "split the range"},
		"an object that does not take it": {argument: hours(3, 5), prepare: func(k *cronJobKube) { k.noBackfill = "the object does not accept backfill" },
			failed: "the object does not accept backfill"},
		"an object that is gone": {argument: hours(3, 5), prepare: func(k *cronJobKube) { k.gone = true }, failed: "the CronJob is gone"},
		"ten wait already": {argument: hours(3, 5), prepare: func(k *cronJobKube) {
			for range 10 {
				k.update(0, hours(1, 2, with("overlap", "Forbid")))
			}
		}, rejected: "10 backfills wait already"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			if test.prepare != nil {
				k.after(time.Second, func() { test.prepare(k) })
			}
			a := k.update(2*time.Second, test.argument)
			k.runUntil(10*time.Second, cron("0 * * * *", allow))
			if got := a.rejected; (got == nil) != (test.rejected == "") || got != nil && !strings.Contains(got.Error(), test.rejected) {
				t.Errorf("rejected: %v, want %q", got, test.rejected)
			}
			if got := a.failed; (got == nil) != (test.failed == "") || got != nil && !strings.Contains(got.Error(), test.failed) {
				t.Errorf("failed: %v, want %q", got, test.failed)
			}
		})
	}
}

// A backfill outlives the workflow run, and an update that is being answered too.
func TestCronJobContinuesAsNewWithItsBackfills(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{time.Hour}
	a := k.update(2*time.Second, hours(3, 5))
	k.after(3*time.Second, func() {
		k.environment.SetContinueAsNewSuggested(true)
		k.send(protocol.JobSeenSignal, protocol.JobSeen{})
	})
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("0 * * * *", forbid)}))
	if !a.answer.Accepted || len(next.State.Backfills) != 1 || len(next.State.Backfills[0].Times) != 2 || next.State.Active[0].Backfill == 0 {
		t.Errorf("answer %+v, state %+v", a.answer, next.State)
	}
	if err := next.Validate(); err != nil {
		t.Error(err)
	}
}

// Whatever somebody sends as a backfill, the workflow goes on, and keeps no more than it
// may.
func FuzzBackfill(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"from": "2126-01-02T00:00:00Z", "to": "2126-01-02T05:00:00Z"}`, `{"cancel": true}`, `"{\"cancel\": true}"`,
		`{"from": "0000-01-01T00:00:00Z", "to": "9999-12-31T23:59:59Z", "parallelism": 9223372036854775807}`,
		`{"from": "2126-01-02T00:00:00+23:59", "to": "2126-01-02T05:00:00.999999999Z", "overlap": "Replace", "note": "\u0000<b>"}`,
		`{"from": "2126-01-02T00:00:00Z", "to": "2126-01-02T05:00:00Z"} {}`, `[[[[`, `{"parallelism": -1}`, `{"overlap": {"a": 1}}`,
	} {
		f.Add([]byte(seed))
	}
	spec, created := cron("*/30 * * * *", allow), cronStart.Add(-time.Hour)
	f.Fuzz(func(t *testing.T, data []byte) {
		var request protocol.BackfillRequest
		if request.UnmarshalJSON(data) != nil {
			return
		}
		asked := schedule.BackfillRequest(request)
		if asked.Mistake(spec, cronStart) != "" || asked.Cancel {
			return
		}
		found := schedule.TimesBetween(spec, schedule.State{Identity: schedule.Identity{Created: created}}, asked.From, asked.To)
		if found.Mistake != "" {
			return
		}
		state := schedule.AddBackfill(schedule.State{}, spec, asked, "", found.Times, cronStart)
		if err := state.Validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := converter.GetDefaultDataConverter().ToPayload(state); err != nil {
			t.Fatal(err)
		}
		for _, at := range found.Times {
			if at.Before(asked.From) || at.After(asked.To) {
				t.Fatalf("%s is not from %s to %s", at, asked.From, asked.To)
			}
		}
	})
}
