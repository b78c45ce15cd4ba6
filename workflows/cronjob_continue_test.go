package workflows_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

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
