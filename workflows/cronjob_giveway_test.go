package workflows_test

import (
	"errors"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
)

// While the create of a run is retried, the workflow hears of what makes it unwanted.
func TestCronJobACreateThatIsRetriedGivesWay(t *testing.T) {
	suspended, edited := cron("*/30 * * * *", allow), cron("0 0 1 1 *", allow)
	suspended.Generation, suspended.Suspend = 2, true
	edited.Generation = 2
	for name, tell := range map[string]func(*cronJobKube){
		"to a suspend by edit": func(k *cronJobKube) { k.signalSpec(45*time.Second, suspended) },
		"to another schedule":  func(k *cronJobKube) { k.signalSpec(45*time.Second, edited) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			down := true
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if down && request.Start != nil {
					return nil, errors.New("connection refused")
				}
				return nil, nil
			}
			tell(k)
			k.after(75*time.Second, func() { down = false })
			k.runUntil(10*time.Minute, cron("*/30 * * * *", allow))
			expectList(t, "runs", k.scheduled())
			if k.status.ObservedGeneration != 2 {
				t.Errorf("status %+v", k.status)
			}
		})
	}
}

// A signal that comes after the time of the run counts from the next one on: the run may have started already.
func TestCronJobACreateThatIsRetriedGoesAheadOfASignal(t *testing.T) {
	k := newCronJobKube(t)
	down := true
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if down && request.Start != nil {
			return nil, errors.New("connection refused")
		}
		return nil, nil
	}
	k.signal(45*time.Second, protocol.SuspendSignal, nil)
	k.after(75*time.Second, func() { down = false })
	k.runUntil(10*time.Minute, cron("*/30 * * * *", allow))
	if runs := k.scheduled(); len(runs) != 1 || !k.object.Suspend {
		t.Errorf("runs %v, suspended %t", runs, k.object.Suspend)
	}
}
