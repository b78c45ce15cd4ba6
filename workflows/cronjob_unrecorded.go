package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/schedule"
)

// A workflow task that is repeated knows nothing of what it did before, and finds no Job that
// it has made and deleted, or found and deleted: it would make it once more. So what is known
// of a Job is in the history before it is deleted.

// unrecorded are the Jobs of which a workflow task is the first to know.
type unrecorded struct {
	task int
	uids []string
}

// learned notes a Job that the state did not know before.
func (c *runningCronJob) learned(ctx workflow.Context, run schedule.Run) {
	if now := task(ctx); c.unrecorded.task != now {
		c.unrecorded = unrecorded{task: now}
	}
	c.unrecorded.uids = append(c.unrecorded.uids, run.UID)
}

// endsTheTask reports whether a plan deletes a Job of which the history does not know yet.
func (c *runningCronJob) endsTheTask(ctx workflow.Context, plan schedule.Plan) bool {
	if c.deletesUnrecorded(ctx, plan) && workflow.GetVersion(ctx, "delete-ends-the-task", workflow.DefaultVersion, 1) == 1 {
		return true
	}
	return replaces(plan) && c.started == task(ctx) &&
		workflow.GetVersion(ctx, "replace-ends-the-task", workflow.DefaultVersion, 1) == 1
}

func (c *runningCronJob) deletesUnrecorded(ctx workflow.Context, plan schedule.Plan) bool {
	return c.unrecorded.task == task(ctx) && slices.ContainsFunc(plan.Deletes, func(wanted schedule.Delete) bool {
		return slices.Contains(c.unrecorded.uids, wanted.UID)
	})
}

// replaces reports whether a plan deletes a run that goes on.
func replaces(plan schedule.Plan) bool {
	return slices.ContainsFunc(plan.Deletes, func(wanted schedule.Delete) bool { return wanted.Replaced })
}

// taskBegin is when a workflow task began, by Temporal's clock.
type taskBegin struct {
	task int
	at   time.Time
}

// taskBegan returns when the present workflow task was seen first.
func (c *runningCronJob) taskBegan(ctx workflow.Context) time.Time {
	if now := task(ctx); c.began.task != now {
		c.began = taskBegin{now, workflow.Now(ctx)}
	}
	return c.began.at
}

// task tells one workflow task of a run from another.
func task(ctx workflow.Context) int { return workflow.GetInfo(ctx).GetCurrentHistoryLength() }
