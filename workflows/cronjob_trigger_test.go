package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestCronJobAnswersWhatBecomesOfATrigger(t *testing.T) {
	// A run is active from 10:00:00 to 10:00:20; the first update comes at 10:00:10.
	const during, after = 40 * time.Second, 70 * time.Second
	refusing := func(refusal protocol.Refusal) func(*cronJobKube) {
		return func(k *cronJobKube) {
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if request.Start != nil && request.Start.Manual {
					return &cronJobResult{Refused: &refusal}, nil
				}
				return nil, nil
			}
		}
	}
	// The run of the last time is active.
	const behind = "JobAlreadyActive: Job hello-82050360 has been active since 2126-01-02T10:00:00Z"
	for name, test := range map[string]struct {
		policy  batchv1.ConcurrencyPolicy
		at      time.Duration
		prepare func(*cronJobKube)
		// arguments is what the update carries.
		arguments []any
		runs      schedule.TriggerRuns
		reason    string
	}{
		"it runs":                         {policy: "Allow", at: after, runs: "now"},
		"it runs beside another":          {policy: "Allow", at: during, runs: "now"},
		"it replaces another":             {policy: "Replace", at: during, runs: "now"},
		"it waits for another":            {policy: "Queue", at: during, runs: "queued", reason: behind},
		"another runs":                    {policy: "Forbid", at: during, runs: "refused", reason: behind},
		"another runs, and may be":        {policy: "Forbid", at: during, arguments: []any{map[string]any{"overlap": "Allow"}}, runs: "now"},
		"it may wait":                     {policy: "Forbid", at: during, arguments: []any{`{"overlap": "Queue"}`}, runs: "queued", reason: behind},
		"suspended":                       {policy: "Allow", at: after, prepare: func(k *cronJobKube) { k.send(protocol.SuspendSignal, nil) }, runs: "now"},
		"null":                            {policy: "Allow", at: after, arguments: []any{nil}, runs: "now"},
		"its Job is refused, to be tried": {policy: "Allow", at: after, prepare: refusing(protocol.Refusal{Reason: "Forbidden", Message: "exceeded quota"}), runs: "queued", reason: "Forbidden: exceeded quota"},
		"the object takes no triggers":    {policy: "Allow", at: after, prepare: refusing(protocol.Refusal{Reason: ledger.SignalRefused, Message: "no"}), runs: "refused", reason: "SignalRefused: no"},
		"the object is gone":              {policy: "Allow", at: after, prepare: func(k *cronJobKube) { k.gone = true }, runs: "refused", reason: "the CronJob is gone"},
		"the API server is away for a while": {policy: "Allow", at: after, prepare: func(k *cronJobKube) {
			failures := 0
			k.answer = func(cronJobRequest) (*cronJobResult, error) {
				if failures++; failures < 5 {
					return nil, errors.New("away")
				}
				return nil, nil
			}
		}, runs: "now"},
		"a hundred wait": {policy: "Queue", at: during, prepare: func(k *cronJobKube) {
			for range 100 {
				k.environment.SignalWorkflow(protocol.TriggerSignal, nil)
			}
		}, runs: "refused", reason: "TooManyTriggers"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			if test.prepare != nil {
				k.after(test.at-time.Second, func() { test.prepare(k) })
			}
			a := k.updateOf(protocol.TriggerUpdate, test.at, test.arguments...)
			k.runUntil(100*time.Second, cron("*/10 * * * *", test.policy))
			if a.rejected != nil || a.failed != nil || !a.done {
				t.Fatalf("rejected: %v, failed: %v, done: %t", a.rejected, a.failed, a.done)
			}
			assert.Equal(t, test.runs, a.trigger.Runs)
			assert.Equal(t, test.reason, a.trigger.Reason)
			if named := a.trigger.Job != ""; named == (test.runs == schedule.RunsRefused) {
				t.Errorf("answered with Job %q", a.trigger.Job)
			}
			if test.runs == schedule.RunsNow {
				assert.Equal(t, k.jobs[len(k.jobs)-1].Name, a.trigger.Job)
			}
		})
	}
}

// TestCronJobNamesTheRunOfATrigger: the ledger has the name of who has asked, and the Job that was promised is made.
func TestCronJobNamesTheRunOfATrigger(t *testing.T) {
	k := newCronJobKube(t)
	first := k.updateOf(protocol.TriggerUpdate, 40*time.Second, protocol.TriggerRequest{SignalNote: protocol.SignalNote{By: "ada", Note: "audit"}})
	second := k.updateOf(protocol.TriggerUpdate, 40*time.Second, map[string]any{"by": "bob", "overlap": "Allow"})
	k.after(110*time.Second, func() {
		rows := k.ledger().Rows
		if len(rows) != 3 || rows[0].Job != first.trigger.Job || rows[0].Message != "audit" || rows[0].Asked != (ledger.Asked{By: "ada", Through: "update"}) ||
			rows[1].Job != second.trigger.Job || rows[1].Asked != (ledger.Asked{By: "bob", Through: "update", Changed: "concurrencyPolicy Allow"}) {
			t.Errorf("answers %+v, %+v, rows %+v", first.trigger, second.trigger, rows)
		}
	})
	k.runUntil(120*time.Second, cron("*/10 * * * *", "Queue"))
	sequence := cronStart.Add(40 * time.Second).UnixMilli()
	assert.Equal(t, names.TriggeredJob("hello", hello.UID, sequence), first.trigger.Job)
	assert.Equal(t, protocol.TriggerAnswer{Job: names.TriggeredJob("hello", hello.UID, sequence+1), Runs: "now"}, second.trigger)
}

func TestCronJobRefusesATriggerThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		argument any
		want     string
	}{
		"a misspelt field":          {map[string]any{"overlp": "Allow"}, `unknown field "overlp"`},
		"a word that is no overlap": {map[string]any{"overlap": "Maybe"}, `overlap is "Maybe": use Allow, Forbid, Replace or Queue`},
		"a number":                  {7, "can't be read, want JSON such as"},
		"words":                     {"once more", "can't be read, want JSON such as"},
		"a book":                    {map[string]any{"note": strings.Repeat("x", 9000)}, "use 8192 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			a := k.updateOf(protocol.TriggerUpdate, 5*time.Second, test.argument)
			k.runUntil(10*time.Second, cron("*/10 * * * *", "Allow"))
			assert.ErrorContains(t, a.rejected, test.want)
			assert.Empty(t, k.jobs)
		})
	}
}
