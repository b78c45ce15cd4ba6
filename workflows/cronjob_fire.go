package workflows

import (
	"errors"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// childRun is a run whose Job workflow is a child of this workflow run.
type childRun struct {
	run    schedule.Run
	future workflow.ChildWorkflowFuture
	// accepted is set once the server has started the child, or said that it won't:
	// before that, continue-as-new would lose it.
	accepted bool
	closed   bool
}

// execute carries out a plan in one call and starts the run's workflow.
func (c *cronJob) execute(ctx workflow.Context, plan schedule.Plan) {
	result, err := callListening[protocol.CronJobResult](ctx, c, summary(plan), protocol.ReconcileCronJobActivity,
		protocol.CronJobRequest{
			CronJob: c.cronJob,
			Deletes: plan.Deletes,
			Start:   plan.Start,
			Status:  plan.Status,
			Events:  plan.Events,
		})
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		// The state stays as it was, so nothing planned is lost; what was done of
		// it is idempotent.
		c.pause = c.pause.Next(workflow.Now(ctx))
		workflow.GetLogger(ctx).Error("Call refused, to be repeated", "until", c.pause.Until, "error", err)
		return
	case result.Gone:
		c.gone = true
		return
	}
	c.pause = schedule.Backoff{}
	report := schedule.Report{Deleted: result.Deleted}
	if result.Started != nil {
		report.Started = &result.Started.Run
	}
	if result.Refused != nil {
		report.Refusal, report.Message = result.Refused.Reason, result.Refused.Message
	}
	c.state = schedule.Apply(plan, report, workflow.Now(ctx))
	if plan.Start != nil && result.Started != nil && result.Started.Managed {
		c.startChild(ctx, *plan.Start, *result.Started)
	}
}

// summary says in a few words what a plan does.
func summary(plan schedule.Plan) string {
	var parts []string
	prune := 0
	for _, wanted := range plan.Deletes {
		if wanted.Replaced {
			parts = append(parts, "replace job "+wanted.Name)
		} else {
			prune++
		}
	}
	if plan.Start != nil {
		parts = append(parts, "create job "+plan.Start.Name)
	}
	for _, wanted := range plan.Events {
		if wanted.Reason != "JobAlreadyActive" {
			parts = append(parts, wanted.Message)
		} else {
			parts = append(parts, "run blocked by Forbid")
		}
	}
	if prune > 0 {
		parts = append(parts, "delete old jobs")
	}
	if len(parts) == 0 {
		return "update status"
	}
	return truncate(strings.Join(parts, ", "), maxSummary)
}

// maxSummary bounds a summary, in bytes; the server accepts 400.
const maxSummary = 200

func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

// startChild starts the Job workflow of a run. It outlives this workflow run:
// neither continue-as-new nor cancellation here reaches it.
func (c *cronJob) startChild(ctx workflow.Context, start schedule.Start, started protocol.StartedJob) {
	run := started.Run
	for _, child := range c.children {
		if child.run.UID == run.UID && !child.closed {
			return
		}
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            names.Cluster(c.cluster).JobWorkflowID(c.cronJob.Namespace, run.Name),
		TaskQueue:             names.Cluster(c.cluster).JobTaskQueue(),
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         childSummary(c.cronJob, start),
	}
	if c.searchAttributes {
		options.TypedSearchAttributes = temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(protocol.NamespaceAttribute).ValueSet(c.cronJob.Namespace),
			temporal.NewSearchAttributeKeyKeyword(protocol.CronJobNameAttribute).ValueSet(c.cronJob.Name),
			temporal.NewSearchAttributeKeyKeyword(protocol.JobNameAttribute).ValueSet(run.Name),
			temporal.NewSearchAttributeKeyTime(protocol.ScheduledTimeAttribute).ValueSet(start.Scheduled),
		)
	}
	future := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), protocol.JobWorkflow, protocol.JobInput{
		Cluster:   c.cluster,
		Job:       protocol.ObjectReference{Namespace: c.cronJob.Namespace, Name: run.Name, UID: run.UID},
		Spec:      started.Spec,
		CronJob:   c.cronJob.Name,
		Scheduled: start.Scheduled,
	})
	c.children = append(c.children, &childRun{run: run, future: future})
}

func childSummary(cronJob protocol.ObjectReference, start schedule.Start) string {
	summary := "CronJob " + cronJob.Namespace + "/" + cronJob.Name
	if start.Manual {
		summary += ", triggered " + start.Scheduled.UTC().Format(time.RFC3339)
		if start.Note != "" {
			summary += ": " + start.Note
		}
		return truncate(summary, maxSummary)
	}
	return summary + ", scheduled " + start.Scheduled.UTC().Format(time.RFC3339)
}

// watchChildren adds the children's starts and ends to a selector.
func (c *cronJob) watchChildren(ctx workflow.Context, selector workflow.Selector) {
	for _, child := range c.children {
		if !child.accepted {
			selector.AddFuture(child.future.GetChildWorkflowExecution(), func(workflow.Future) { child.accepted = true })
		}
		selector.AddFuture(child.future, func(workflow.Future) { c.childClosed(ctx, child) })
	}
}

// childClosed takes in a child's end. A child that was not started, because the
// bridge was first, or that ended without a result, because somebody terminated
// it, says nothing about its Job: the run goes on as one whose end is brought by
// signal.
func (c *cronJob) childClosed(ctx workflow.Context, child *childRun) {
	child.accepted, child.closed = true, true
	remaining := make([]*childRun, 0, len(c.children))
	for _, other := range c.children {
		if other != child {
			remaining = append(remaining, other)
		}
	}
	c.children = remaining
	var result job.Result
	if err := child.future.Get(ctx, &result); err != nil {
		workflow.GetLogger(ctx).Info("Job workflow gave no result, waiting for its Job", "job", child.run.Name, "error", err)
		return
	}
	if result.UID != "" && result.UID != child.run.UID {
		// The Job was re-created under its name and the child went over to it.
		result.Outcome = job.Deleted
	}
	c.runEnded(child.run, result)
}

// callListening is callKube that goes on taking signals into the inbox, in the
// order of their arrival, while the call is in flight.
func callListening[Result any](ctx workflow.Context, c *cronJob, summary, activity string, request any) (Result, error) {
	var result Result
	var err error
	done, settle := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		result, err = callKube[Result](ctx, summary, activity, request)
		settle.Set(nil, nil)
	})
	for !done.IsReady() {
		selector := workflow.NewSelector(ctx)
		selector.AddFuture(done, func(workflow.Future) {})
		c.listen(selector)
		selector.Select(ctx)
	}
	return result, err
}

// shortError is an error's innermost message, fit for an Event.
func shortError(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return truncate(application.Message(), maxSummary)
	}
	return truncate(err.Error(), maxSummary)
}
