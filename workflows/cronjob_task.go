package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/schedule"
)

// workflowTask is what a run of the workflow remembers of the workflow task under way. A task
// that is repeated has forgotten it.
type workflowTask struct {
	// history is how many events the history had when it began, which tells it from others.
	history int
	// began is when that was, by Temporal's clock.
	began time.Time
	// started is set once it has started a run.
	started bool
	// learned are the UIDs of the Jobs of which it is the first to know.
	learned []string
}

// present returns the workflow task under way.
func (c *runningCronJob) present(ctx workflow.Context) *workflowTask {
	if history := workflow.GetInfo(ctx).GetCurrentHistoryLength(); c.task.history != history || c.task.began.IsZero() {
		c.task = workflowTask{history: history, began: workflow.Now(ctx)}
	}
	return &c.task
}

// learn notes a Job that the state did not know before.
func (t *workflowTask) learn(run schedule.Run) { t.learned = append(t.learned, run.UID) }

// deletesLearned reports whether a plan deletes a Job of which the history does not know yet.
func (t *workflowTask) deletesLearned(plan schedule.Plan) bool {
	return slices.ContainsFunc(plan.Deletes, func(wanted schedule.Delete) bool { return slices.Contains(t.learned, wanted.UID) })
}

// endsTheTask reports whether what is known of a Job has to be in the history before the plan
// deletes it. A task that is repeated finds no Job that it has made and deleted before, or
// found and deleted: it would make it once more.
func (c *runningCronJob) endsTheTask(ctx workflow.Context, plan schedule.Plan) bool {
	task := c.present(ctx)
	if task.deletesLearned(plan) && workflow.GetVersion(ctx, "delete-ends-the-task", workflow.DefaultVersion, 1) == 1 {
		return true
	}
	return task.started && replaces(plan) && workflow.GetVersion(ctx, "replace-ends-the-task", workflow.DefaultVersion, 1) == 1
}

// replaces reports whether a plan deletes a run that goes on.
func replaces(plan schedule.Plan) bool {
	return slices.ContainsFunc(plan.Deletes, func(wanted schedule.Delete) bool { return wanted.Replaced })
}
