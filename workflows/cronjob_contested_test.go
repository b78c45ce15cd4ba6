package workflows_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// A workflow that was overtaken three times within a minute has a rival. If it is overtaken again, it waits half a minute before it
// reads the object. A signal to suspend ends the wait.
func TestCronJobWaitsBeforeItReadsAContestedObject(t *testing.T) {
	for name, test := range map[string]struct {
		suspend bool
		// last is the time of the read that follows the fourth overtaking at 25 s.
		last string
	}{
		"for half a minute":              {false, "55s"},
		"until it hears of a suspension": {true, "35s"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			var reads []string
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if request.All {
					reads = append(reads, k.environment.Now().Sub(cronStart).String())
				}
				return nil, nil
			}
			k.overtake(10*time.Second, 100).overtake(15*time.Second, 200).overtake(20*time.Second, 300).overtake(25*time.Second, 400)
			if test.suspend {
				k.signal(35*time.Second, protocol.SuspendSignal, nil)
			}
			k.runUntil(2*time.Minute, cron("0 0 1 1 *", allow))
			expectList(t, "reads", reads, "0s", "10s", "15s", "20s", test.last)
			if k.object.Suspend != test.suspend {
				t.Errorf("suspended: %t", k.object.Suspend)
			}
		})
	}
}

// Updates come while the workflow looks at an object that has overtaken it, or while it reads the object anew, as after a reset, with
// which Temporal sends those again that were carried out. They are not taken into a state: their answer is to ask again.
func TestCronJobAnUpdateToAStateThatWasOvertakenIsToldToAskAgain(t *testing.T) {
	for name, during := range map[string]func(cronJobRequest) bool{
		"while it looks":      func(request cronJobRequest) bool { return len(request.Look) > 0 },
		"while it reads anew": func(request cronJobRequest) bool { return request.All },
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			trigger, backfill, sent, overtaken := &answered{}, &answered{}, false, false
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if overtaken && during(request) && !sent {
					sent = true
					k.environment.UpdateWorkflow(protocol.TriggerUpdate, "trigger", trigger, map[string]any{})
					k.environment.UpdateWorkflow(protocol.BackfillUpdate, "backfill", backfill, map[string]any{"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:01:00Z"})
				}
				return nil, nil
			}
			k.after(9*time.Second, func() { overtaken = true })
			k.overtake(10*time.Second, 100)
			k.runUntil(time.Minute, cron("0 0 1 1 *", allow))
			if answer := trigger.trigger; answer.Runs != schedule.RunsRefused || !strings.Contains(answer.Reason, "ask again") {
				t.Errorf("answer %+v", trigger)
			}
			if reads := name == "while it reads anew"; reads && !strings.Contains(fmt.Sprint(backfill.failed), "ask again") {
				t.Errorf("backfill %+v", backfill)
			}
			expectList(t, "runs", k.scheduled())
		})
	}
}

// The API server is asked whether the object takes backfills, and meanwhile the object overtakes the state.
func TestCronJobABackfillWhoseStateIsOvertakenIsToldToAskAgain(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if request.Backfill && k.environment.Now().Before(cronStart.Add(15*time.Second)) {
			return nil, errors.New("connection refused")
		}
		return nil, nil
	}
	backfill := k.update(5*time.Second, map[string]any{"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:01:00Z"})
	k.overtake(10*time.Second, 100)
	k.runUntil(time.Minute, cron("0 0 1 1 *", allow))
	if !strings.Contains(fmt.Sprint(backfill.failed), "ask again") {
		t.Errorf("backfill %+v", backfill)
	}
	expectList(t, "runs", k.scheduled())
}

// etcd is restored to before a run has ended, and the bridge reminds the workflow of the run that the status lists.
func TestCronJobWritesItsStatusAgainWhereTheObjectHasAnEarlierOne(t *testing.T) {
	k := newCronJobKube(t)
	writes := func() (count int) {
		for _, request := range k.requests {
			if request.Status != nil {
				count++
			}
		}
		return count
	}
	var before int
	restored := false
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if len(request.Look) == 0 || !restored {
			return nil, nil
		}
		before = writes()
		return &cronJobResult{Behind: true}, nil
	}
	k.after(12*time.Minute, func() {
		restored = true
		k.environment.SignalWorkflow(protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: hello.UID, Name: k.jobs[0].Name, UID: k.jobs[0].UID})
	})
	k.runUntil(14*time.Minute, cron("*/10 * * * *", allow))
	expect(t, "more statuses", writes()-before, 1)
}
