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
	switch {
	case !c.urged && (schedule.NeedsEvaluation(state, c.spec, now) || passed || !due.IsZero() && !now.Before(prepare)):
		options.until = now.Add(spare)
	case due.IsZero() || prepare.Sub(now) > regularBudget:
	case now.Before(prepare):
		options.until = prepare
	default:
		options.until = due
	}
	return options
}

// startGoesFirst reports whether a run is to be started, or prepared, before anything else: a less urgent call has had its
// chance. A wish to suspend goes before it.
func (c *runningCronJob) startGoesFirst(ctx workflow.Context, now time.Time) bool {
	if !c.urged || len(c.heard.steering) > 0 {
		return false
	}
	c.state = c.evaluated(ctx, c.state, now)
	plan := schedule.Decide(c.state, c.spec, now)
	if plan.Start != nil {
		return !plan.Start.Manual
	}
	due, ok := schedule.Ahead(plan.Next, c.spec, now)
	if ok {
		_, ok = schedule.DecideAhead(c.state, c.spec, due)
	}
	return ok
}

// paused reports whether nothing is called for now, after a failure. A start does not wait for what is less urgent.
func (c *runningCronJob) paused(ctx workflow.Context, now time.Time) bool {
	return !c.pause.over(now) && !c.startGoesFirst(ctx, now)
}

// pausedUntil returns when a pause ends, or when the next start is to be prepared, which may end it.
func (c *runningCronJob) pausedUntil(now time.Time) time.Time {
	due, prepare := schedule.NextStart(c.state, c.spec, now)
	if c.urged && !due.IsZero() && now.Before(prepare) && prepare.Before(c.pause.until) {
		return prepare
	}
	return c.pause.until
}
