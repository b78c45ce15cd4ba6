package workflows

import (
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// cronJobHistoryBudget is the number of events after which a CronJob workflow
// continues as new when none of its children runs; at twice that it does not
// wait for them. Short histories replay fast and meet few code versions.
const cronJobHistoryBudget = 1000

// mayContinueAsNew reports whether this is a quiet point at which to continue as
// new: nothing received is unhandled but what can be looked at as well by the next run of
// the workflow, and no child is being started. A run that was
// cancelled takes the first, since Temporal accepts no second cancellation of it.
func (c *runningCronJob) mayContinueAsNew(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	suggested, length := info.GetContinueAsNewSuggested() || c.answered, info.GetCurrentHistoryLength()
	if !suggested && length <= cronJobHistoryBudget {
		return false
	}
	for _, child := range c.children {
		if !child.accepted || (!suggested && length <= 2*cronJobHistoryBudget) {
			return false
		}
	}
	return !c.mailbox.pending() && len(c.asked) == 0 && len(c.askedTriggers) == 0 && workflow.AllHandlersFinished(ctx)
}

// continueAsNew goes on in a new workflow run. The ends of runs still active come
// to it as job-closed signals. Of a successor to the object the bridge tells again.
func (c *runningCronJob) continueAsNew(ctx workflow.Context) error {
	state := c.state.Bounded()
	var heard *protocol.CronJobHeard
	if c.heard.reasonToLook() {
		heard = &protocol.CronJobHeard{Runs: c.heard.runs}
	}
	return workflow.NewContinueAsNewError(ctx, protocol.CronJobWorkflow, protocol.CronJobInput{
		CronJob:          c.cronJob,
		Created:          c.state.Created,
		Spec:             c.spec,
		SearchAttributes: c.searchAttributes,
		State:            &state,
		Heard:            heard,
		Wishes:           c.heard.steering,
	})
}

// finish ends the workflow of an object that is gone, or goes over to the object
// that took its name. Runs still active are left to themselves: the garbage
// collector deletes their Jobs with their owner.
func (c *runningCronJob) finish(ctx workflow.Context) error {
	// Who waits for the answer to an update gets it.
	_ = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
	if c.take(ctx); c.heard.stranger == nil {
		return nil
	}
	return workflow.NewContinueAsNewError(ctx, protocol.CronJobWorkflow, *c.heard.stranger)
}
