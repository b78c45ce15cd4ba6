package bridge

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
)

// reminderShare is the part of the sweep's rate that reminders may take.
const reminderShare = 0.1

// turn says whether a pass over a CronJob may send a reminder. A reminder asks the workflow
// for what it is late with: to look at the clock since a run is overdue, at a Job that
// status does not list, at the end of a run that status still lists. In a herd, and after
// an outage, all workflows are late and catch up by themselves before long. So reminders
// have a queue and a rate of their own. A pass in that queue sends one, so that namespaces
// share the rate; a pass elsewhere sends none.
type turn struct {
	// limiter is nil where the pass may send none, or no more.
	limiter flowcontrol.RateLimiter
	// wanted says that there is one more to send.
	wanted bool
}

// take waits until a reminder may be sent. It returns false where this pass may send none.
func (t *turn) take(ctx context.Context) (bool, error) {
	if t.limiter == nil {
		t.wanted = true
		return false, nil
	}
	limiter := t.limiter
	t.limiter = nil
	return true, limiter.Wait(ctx)
}
