package workflows_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// A call that fails for days, once a minute, makes the history as long as runs do.
func TestCronJobContinuesAsNewWhileACallFails(t *testing.T) {
	made := protocol.JobSeen{CronJobUID: hello.UID, Name: "hello-by-hand", UID: "by-hand"}
	tests := map[string]struct {
		fails func(cronJobRequest) bool
		again func(cronJobRequest) bool
	}{
		"the delete of a run that is replaced": {
			fails: func(request cronJobRequest) bool {
				return len(request.Deletes) > 0 && request.Deletes[0].Replaced
			},
			again: func(request cronJobRequest) bool { return request.Start != nil && len(request.Deletes) == 1 },
		},
		"a look at what was heard": {
			fails: func(request cronJobRequest) bool { return len(request.Look) > 0 },
			again: func(request cronJobRequest) bool {
				return slices.Equal(request.Look, []schedule.Run{{Name: made.Name, UID: made.UID}})
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.runs = []time.Duration{24 * time.Hour}
			var last time.Time
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				last = k.environment.Now()
				if test.fails(request) && !k.gone {
					return nil, temporal.NewNonRetryableApplicationError("a policy says no", "Refused", nil)
				}
				return nil, nil
			}
			k.signal(45*time.Second, protocol.JobSeenSignal, made)
			k.after(30*time.Minute, func() { k.environment.SetCurrentHistoryLength(2500) })
			k.signal(time.Hour, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
			next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("*/20 * * * *", replace)}))
			if late := last.Sub(cronStart.Add(30 * time.Minute)); late > time.Minute {
				t.Errorf("called %s after it was to continue as new", late)
			}
			if err := next.Validate(); err != nil {
				t.Error(err)
			}

			after := newCronJobKube(t)
			after.environment.SetStartTime(last)
			after.signal(time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
			if err := after.runInput(next); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(after.requests, test.again) {
				t.Errorf("requests %+v", after.requests)
			}
		})
	}
}

// The workflow does not grow for ever while spec.suspend can't be written, and forgets nobody's wish.
func TestCronJobContinuesAsNewWithTheWishThatCouldNotBeWritten(t *testing.T) {
	k := newCronJobKube(t)
	k.refuseSuspend = errors.New("connection refused")
	k.signal(time.Minute, protocol.SuspendSignal, protocol.SignalNote{By: "ada"})
	k.after(30*time.Minute, func() { k.environment.SetCurrentHistoryLength(2500) })
	k.after(time.Hour, func() { k.gone = true })
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("0 0 1 1 *", allow)}))
	if err := next.Validate(); err != nil {
		t.Error(err)
	}

	after := newCronJobKube(t)
	after.signal(time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := after.runInput(next); err != nil {
		t.Fatal(err)
	}
	if len(after.suspends) != 1 || !after.suspends[0].Suspend || after.suspends[0].Note.By != "ada" {
		t.Errorf("suspends %+v", after.suspends)
	}
}

// Nor does it grow while it can't begin, and it does what it was asked for once it can.
func TestCronJobContinuesAsNewWhileItCannotBegin(t *testing.T) {
	k := newCronJobKube(t)
	var last time.Time
	k.answer = func(cronJobRequest) (*cronJobResult, error) {
		last = k.environment.Now()
		return nil, temporal.NewNonRetryableApplicationError("batch.ostinato.dev is not served", "NotServed", nil)
	}
	k.signal(time.Minute, protocol.TriggerSignal, protocol.SignalNote{By: "ada"})
	k.signal(2*time.Minute, protocol.SuspendSignal, protocol.SignalNote{By: "grace"})
	trigger, backfill := k.updateOf(protocol.TriggerUpdate, 3*time.Minute, map[string]any{}), k.update(3*time.Minute, hours(3, 4))
	k.after(30*time.Minute, func() { k.environment.SetCurrentHistoryLength(2500) })
	k.after(time.Hour, func() {
		k.answer = nil
		k.gone = true
	})
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("0 0 1 1 *", allow)}))
	if late := last.Sub(cronStart.Add(30 * time.Minute)); late > time.Minute {
		t.Errorf("called %s after it was to continue as new", late)
	}
	if err := next.Validate(); err != nil {
		t.Error(err)
	}

	if trigger.trigger.Runs != schedule.RunsRefused || backfill.failed == nil {
		t.Errorf("an update waits: %+v, %+v", trigger, backfill)
	}

	after := newCronJobKube(t)
	after.signal(time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := after.runInput(next); err != nil {
		t.Fatal(err)
	}
	if !after.requests[0].All {
		t.Errorf("it goes on without a look at the object: %+v", after.requests[0])
	}
	if len(after.jobs) != 1 || !after.jobs[0].Manual || !after.object.Suspend {
		t.Errorf("runs %v, suspended %t", after.scheduled(), after.object.Suspend)
	}
}

// The end of a run comes to the workflow run that has started it, and to no later one: it is taken before the workflow continues as
// new, also where it comes while something else is done.
func TestCronJobContinuesAsNewWithTheEndsOfItsRuns(t *testing.T) {
	k := newCronJobKube(t)
	k.runs = []time.Duration{time.Minute}
	looked := false
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if len(request.Look) == 0 || looked {
			return nil, nil
		}
		looked = true
		return nil, errors.New("connection refused")
	}
	k.after(89800*time.Millisecond, func() {
		k.environment.SetCurrentHistoryLength(2500)
		k.send(protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: hello.UID, Name: "hello-by-hand", UID: "by-hand"})
	})
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("*/5 * * * *", forbid)}))
	if len(next.State.Active) > 0 || !looked {
		t.Errorf("looked %t, active %+v", looked, next.State.Active)
	}
}

// A workflow that was overtaken and can't read the object carries its state on: without one, the next would not find out that what
// it hears is of the past.
func TestCronJobContinuesAsNewWithAStateThatWasOvertaken(t *testing.T) {
	k := newCronJobKube(t)
	down := false
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if down && request.All {
			return nil, temporal.NewNonRetryableApplicationError("batch.ostinato.dev is not served", "NotServed", nil)
		}
		down = down || len(request.Look) > 0
		return nil, nil
	}
	k.overtake(time.Minute, 50)
	k.after(30*time.Minute, func() { k.environment.SetCurrentHistoryLength(2500) })
	next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("0 0 1 1 *", allow)}))
	if err := next.Validate(); err != nil {
		t.Error(err)
	}

	after := newCronJobKube(t)
	after.status = k.status
	after.signal(time.Minute, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := after.runInput(next); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(after.reasons(), event.StatusOvertaken) {
		t.Errorf("Events %v", after.reasons())
	}
}

// kubectl replace --force: the workflow of the object before takes what was sent for the one that has its name.
func TestCronJobPassesOnWhatIsMeantForItsSuccessor(t *testing.T) {
	successor := hello
	successor.UID = "successor"
	for signal, want := range map[string]struct {
		runs      int
		suspended bool
	}{
		protocol.TriggerSignal: {runs: 2},
		protocol.SuspendSignal: {suspended: true},
	} {
		t.Run(signal, func(t *testing.T) {
			spec := cron("0 0 1 1 *", allow)
			k := newCronJobKube(t)
			k.after(time.Minute, func() {
				k.gone = true
				k.environment.SignalWorkflow(protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: successor, Spec: spec})
				k.environment.SignalWorkflow(signal, protocol.SignalNote{By: "ada"})
				k.environment.SignalWorkflow(signal, protocol.SignalNote{By: "ada"})
			})
			next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: spec}))
			if err := next.Validate(); err != nil {
				t.Error(err)
			}

			after := newCronJobKube(t)
			after.after(time.Minute, func() {
				after.gone = true
				after.environment.SignalWorkflow(protocol.DeletedSignal, protocol.Deleted{UID: successor.UID})
			})
			if err := after.runInput(next); err != nil {
				t.Fatal(err)
			}
			if len(after.jobs) != want.runs || after.object.Suspend != want.suspended {
				t.Errorf("runs %v, suspended %t", after.scheduled(), after.object.Suspend)
			}
		})
	}
}
