package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// workflowTask is the workflow task under way.
type workflowTask struct {
	// history is how many events the history had when it began, which tells it from others.
	history int
	// began is when that was, by Temporal's clock.
	began time.Time
}

// present returns the workflow task under way.
func (c *runningCronJob) present(ctx workflow.Context) workflowTask {
	if history := workflow.GetInfo(ctx).GetCurrentHistoryLength(); c.task.history != history || c.task.began.IsZero() {
		c.task = workflowTask{history: history, began: workflow.Now(ctx)}
	}
	return c.task
}
