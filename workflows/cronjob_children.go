package workflows

import (
	"cmp"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// childRun is a run whose Job workflow is a child of this workflow run.
type childRun struct {
	run    schedule.Run
	future workflow.ChildWorkflowFuture
	// accepted is set once the server has answered the start: before that, continue-as-new would lose the child.
	accepted bool
}

// begun reports whether the child has begun, or won't.
func (r *childRun) begun() bool { return r.future.GetChildWorkflowExecution().IsReady() }

// startChild starts the Job workflow of a run, which outlives this workflow run.
func (c *runningCronJob) startChild(ctx workflow.Context, start schedule.Start, started protocol.StartedJob) {
	run := started.Run
	if slices.ContainsFunc(c.children, func(child *childRun) bool { return child.run.UID == run.UID }) {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            c.options.Cluster.JobWorkflowID(c.reference.Namespace, run.Name),
		TaskQueue:             c.options.Cluster.JobTaskQueue(),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         childSummary(c.reference, start),
		Priority:              priority(ctx, order.Running),
	}
	if c.searchAttributes {
		options.TypedSearchAttributes = temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(protocol.NamespaceAttribute).ValueSet(c.reference.Namespace),
			temporal.NewSearchAttributeKeyKeyword(protocol.CronJobNameAttribute).ValueSet(c.reference.Name),
			temporal.NewSearchAttributeKeyKeyword(protocol.JobNameAttribute).ValueSet(run.Name),
			temporal.NewSearchAttributeKeyTime(protocol.ScheduledTimeAttribute).ValueSet(start.Scheduled),
		)
	}
	future := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), protocol.JobWorkflow, protocol.JobInput{
		Job:       protocol.ObjectReference{Namespace: c.reference.Namespace, Name: run.Name, UID: run.UID},
		Spec:      started.Spec,
		CronJob:   c.reference.Name,
		Scheduled: start.Scheduled,
		Pods:      started.Pods,
		Late:      started.Late,
	})
	c.children = append(c.children, &childRun{run: run, future: future})
}

func childSummary(cronJob protocol.ObjectReference, start schedule.Start) string {
	summary, at := "CronJob "+cronJob.Namespace+"/"+cronJob.Name, timeText(start.Scheduled)
	switch {
	case !start.Manual:
		return summary + ", scheduled " + at
	case start.Backfill != 0:
		summary += ", " + at + ", " + start.Note
	default:
		summary += ", triggered " + at + said(": %s", start.Note)
	}
	return clip.Text(summary+askedText(start.Asked), maxSummary)
}

// childrenPending reports whether the start or the end of a child is to be taken.
func (c *runningCronJob) childrenPending() bool {
	return slices.ContainsFunc(c.children, func(child *childRun) bool {
		return child.future.IsReady() || !child.accepted && child.begun()
	})
}

// takeChildren takes the starts and ends of children.
func (c *runningCronJob) takeChildren(ctx workflow.Context) {
	var running []*childRun
	for _, child := range c.children {
		child.accepted = child.begun()
		if child.future.IsReady() {
			c.childClosed(ctx, child)
		} else {
			running = append(running, child)
		}
	}
	c.children = running
}

// childClosed takes a child's end. A child that was not started (the bridge was first) or has no result (terminated, or
// another controller's Job) says nothing about its Job, whose end then comes by signal.
func (c *runningCronJob) childClosed(ctx workflow.Context, child *childRun) {
	ended, err := endOf(ctx, child)
	if err != nil {
		workflow.GetLogger(ctx).Info("Job workflow gave no result, waiting for its Job", "job", child.run.Name, "error", err)
		return
	}
	c.runEnded(ctx, ended)
	if ended.Reason == event.Stopped && len(c.looks) < protocol.MaxLooks {
		// Who has stopped it the Job says: anybody who may write to Temporal may have completed the child.
		c.looks = append(c.looks, schedule.Run{Name: ended.Run.Name, UID: ended.Run.UID})
	}
}

var errHandedOver = errors.New("another controller has the Job")

// endOf returns the end of a child's run.
func endOf(ctx workflow.Context, child *childRun) (schedule.Finished, error) {
	result, err := resultOf(ctx, child.future)
	if err == nil && result.Outcome == job.HandedOver {
		err = errHandedOver
	}
	if err != nil {
		return schedule.Finished{}, err
	}
	if result.UID != "" && result.UID != child.run.UID {
		// The Job was re-created under its name and the child went over to it.
		result.Outcome = job.Deleted
	}
	return schedule.Finished{
		Run: child.run, Condition: batchv1.JobConditionType(result.Outcome), StartTime: result.StartTime, CompletionTime: result.CompletionTime,
		EndTime: result.CompletionTime, Reason: cmp.Or(result.Why, result.Reason), FailedPods: result.Failed,
	}, nil
}

// resultOf returns a child's result, which for a failed Job is in its error.
func resultOf(ctx workflow.Context, child workflow.Future) (result protocol.JobClosing, err error) {
	err = child.Get(ctx, &result)
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if ok && application.Type() == protocol.JobFailedErrorType && application.HasDetails() {
		err = application.Details(&result)
	}
	return result, err
}

// runEnded merges the end of a run into the state.
func (c *runningCronJob) runEnded(ctx workflow.Context, ended schedule.Finished) {
	c.runsEnded = true
	c.state = c.afterRun(ctx, c.state, ended)
}

// afterRun returns the state after the end of a run.
func (c *runningCronJob) afterRun(ctx workflow.Context, state schedule.State, ended schedule.Finished) schedule.State {
	if ended.EndTime.IsZero() {
		// A failed Job has no completion time.
		ended.EndTime = workflow.Now(ctx)
	}
	switch {
	case ended.Gone():
		return schedule.Missing(state, ended.Run, workflow.Now(ctx))
	case state.Knows(ended.Run):
		return schedule.Finish(state, c.spec, ended)
	}
	return schedule.RecoverJobs(state, []schedule.RecoveredJob{{Run: ended.Run, Finished: &ended}})
}
