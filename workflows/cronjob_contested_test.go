package workflows_test

import (
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

// A trigger comes while the workflow looks at an object that has overtaken it. It is not taken into the state that is dropped: its
// answer is to ask again.
func TestCronJobAnUpdateToAStateThatWasOvertakenIsToldToAskAgain(t *testing.T) {
	k := newCronJobKube(t)
	trigger, sent := &answered{}, false
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if len(request.Look) > 0 && !sent {
			sent = true
			k.environment.UpdateWorkflow(protocol.TriggerUpdate, "", trigger, map[string]any{})
		}
		return nil, nil
	}
	k.overtake(10*time.Second, 100)
	k.runUntil(time.Minute, cron("0 0 1 1 *", allow))
	if answer := trigger.trigger; answer.Runs != schedule.RunsRefused || !strings.Contains(answer.Reason, "ask again") {
		t.Errorf("answer %+v", trigger)
	}
	expectList(t, "runs", k.scheduled())
}
