package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/schedule"
)

// spare is how long a call that is less urgent than a start may take when a run may be due.
const spare = time.Second

// beforeNextStart returns the options of a call that is less urgent than a start. It ends when the next one is to be prepared,
// so that the attempt under way is over when the run is due. When that time has come, such a call has a second, and the start is
// next; where nothing starts then, the call has until the run is due.
func (c *runningCronJob) beforeNextStart(ctx workflow.Context, state schedule.State) callOptions {
	options, now := callOptions{givesWay: c.mailbox.steered, alarm: &c.alarm}, workflow.Now(ctx)
	due, prepare := schedule.NextStart(state, c.spec, now)
	passed := !state.NextTime(c.spec).Equal(due)
	if c.behind.failures == 0 && (schedule.NeedsEvaluation(state, c.spec, now) || passed || !due.IsZero() && !now.Before(prepare)) {
		options.until = now.Add(spare)
	} else if !due.IsZero() && prepare.Sub(now) <= regularBudget {
		options.until = c.nextStart(state, now)
	}
	return options
}

// nextStart returns when the next run is to be prepared, or is due where that has come; zero where none is known.
func (c *runningCronJob) nextStart(state schedule.State, now time.Time) time.Time {
	due, prepare := schedule.NextStart(state, c.spec, now)
	if now.Before(prepare) {
		return prepare
	}
	return due
}

// fellBehind puts off calls that are less urgent than a start, after one that failed or ran out of time. What the workflow is
// told to do meanwhile comes first.
func (c *runningCronJob) fellBehind(ctx workflow.Context, what string, err error) {
	if !c.mailbox.steered() {
		c.behind.failed(ctx, what, err)
	}
}

// behindUntil returns when such calls go on, or when a start is to be prepared or tried again.
func (c *runningCronJob) behindUntil(now time.Time, plan schedule.Plan) time.Time {
	until := c.behind.until
	_, prepare := schedule.NextStart(c.state, c.spec, now)
	for _, start := range []time.Time{prepare, plan.Wake} {
		if now.Before(start) && start.Before(until) {
			until = start
		}
	}
	return until
}
