package workflows

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// whyUnreadable is why a workflow that can't begin does not do what it is asked for.
const whyUnreadable = "the CronJob can't be read at present"

// errUnusableSpec says that an activity has read a spec that no CronJob can have.
var errUnusableSpec = errors.New("its spec is not valid")

// errNoCreation says that an answer does not tell when the CronJob was created, as that of an earlier worker.
var errNoCreation = errors.New("it is not known when it was created")

// startRun starts a run and its workflow, or looks for its Job. Like writeStatus it carries out a plan in one idempotent call.
func (c *runningCronJob) startRun(ctx workflow.Context, plan schedule.Plan) {
	request := protocol.StartRunRequest{
		CronJob: c.reference, Digest: digest(c.spec), Basis: c.state.Basis, Find: plan.Find,
		Start: *plan.Start, Replace: plan.Deletes, Status: plan.Status, Suspender: c.state.Suspension.Suspender, Events: plan.Events,
	}
	if plan.Status != nil {
		request.StatusUntil = c.nextStart(plan.Next, workflow.Now(ctx))
	}
	c.behind.reset()
	result, err := perform(ctx, startRun, summary(plan), request, callOptions{
		early: max(plan.Start.Scheduled.Sub(workflow.Now(ctx)), 0),
		givesWay: func() bool {
			if workflow.Now(ctx).Before(plan.Start.Scheduled) {
				return c.mailbox.steered() || c.unsettled(ctx, plan.Start.Scheduled)
			}
			return c.mailbox.holds(ends...)
		},
	})
	if err != nil || result.GaveUp {
		c.startFailed(ctx, plan, result, err)
		return
	}
	if result.Sent && (result.CurrentSpec != nil || result.Overtaken) {
		c.startFailed(ctx, plan, result, nil)
	}
	if !c.answeredFor(ctx, result.Answer) {
		return
	}
	c.state = schedule.Apply(plan, reportOf(result), workflow.Now(ctx))
	for _, ended := range result.Ended {
		c.runEnded(ctx, ended)
	}
	if plan.Status != nil {
		c.attribute(ctx)
	}
	if result.Started == nil || !result.Started.Managed {
		return
	}
	start := *plan.Start
	start.User = cmp.Or(result.User, start.User)
	c.startChild(ctx, start, *result.Started)
	if plan.Status == nil {
		// The only error is that of a cancelled context, which this one never is.
		_ = workflow.Await(ctx, func() bool {
			return !slices.ContainsFunc(c.children, func(child *childRun) bool { return !child.begun() })
		})
	}
}

// reportOf is what a result says to the planner.
func reportOf(result protocol.StartRunResult) schedule.Report {
	report := schedule.Report{
		Deleted: result.Replaced, StatusFailed: result.StatusFailed, StatusLeft: result.StatusLeft, Revision: result.Revision,
		Unclear: result.Unclear != "", Unsent: result.Unsent, Sent: result.Sent, Message: result.Unclear, Missing: result.Missing,
		User: result.User, Suspender: result.Suspender,
	}
	if result.Started != nil {
		report.Started = &result.Started.Run
	}
	if result.Refused != nil {
		report.Refusal, report.Message = result.Refused.Reason, result.Refused.Message
	}
	return report
}

// startFailed takes in that a start has no answer, or gave way. Where a create may have been sent, the run may have a Job.
func (c *runningCronJob) startFailed(ctx workflow.Context, plan schedule.Plan, result protocol.StartRunResult, err error) {
	// An answer says whether one was sent. Without an answer, none was before the time of the run.
	maySend := result.GaveUp || result.Sent || !workflow.Now(ctx).Before(plan.Start.Scheduled)
	if maySend && !result.Unsent && !plan.Find {
		plan.Next.Outbox = plan.Events
		c.state = schedule.Apply(plan, schedule.Report{Unclear: true, Deleted: result.Replaced}, workflow.Now(ctx))
	}
	if err == nil || errors.Is(err, errGaveWay) {
		// Another call may have failed before.
		c.pause.reset()
		return
	}
	c.pause.failed(ctx, "Starting a run failed", err)
}

// unsettled reports whether what was heard of other runs since may keep the run of a time to come from starting: word of a Job that
// counts beside it, or the failure after which the CronJob is suspended.
func (c *runningCronJob) unsettled(ctx workflow.Context, due time.Time) bool {
	pauses := c.spec.PauseAfterFailures > 0
	if (pauses || c.spec.Capacity() > 0) && c.mailbox.holds(protocol.JobSeenSignal) {
		return true
	}
	state, ends := c.state, false
	for _, child := range c.children {
		if child.future.IsReady() {
			ended, err := endOf(ctx, child)
			if err == nil {
				state, ends = c.afterRun(ctx, state, ended), true
			}
		}
	}
	if !ends {
		return false
	}
	_, starts := schedule.DecideAhead(state, c.spec, due)
	return !starts
}

// writeStatus writes what the state says, and prunes the history.
func (c *runningCronJob) writeStatus(ctx workflow.Context, plan schedule.Plan) {
	request := protocol.WriteStatusRequest{
		CronJob: c.reference, Digest: digest(c.spec), Basis: c.state.Basis, Judge: plan.Judge, Status: plan.Status, Suspender: c.state.Suspension.Suspender,
		Prune: plan.Deletes, Events: plan.Events,
	}
	result, err := perform(ctx, writeStatus, summary(plan), request, c.beforeNextStart(ctx, plan.Next))
	if err != nil {
		// It may have been written.
		c.state = c.state.Sent(plan)
		c.fellBehind(ctx, "Writing the status failed", err)
		return
	}
	c.behind.reset()
	if c.answeredFor(ctx, result.Answer) {
		report := schedule.Report{
			Deleted: result.Pruned, StatusFailed: result.StatusFailed, Revision: result.Revision, Suspender: result.Suspender, Judgement: result.Judgement,
		}
		c.state = schedule.Apply(plan, report, workflow.Now(ctx))
		if plan.Status != nil {
			c.attribute(ctx)
		}
	}
}

// answeredFor reports whether a call was carried out for the CronJob as planned; if not, it takes in the difference.
func (c *runningCronJob) answeredFor(ctx workflow.Context, answer protocol.Answer) bool {
	switch {
	case answer.Overtaken:
		c.isOvertaken(ctx)
	case !answer.Gone && answer.CurrentSpec == nil:
		c.pause.reset()
		return true
	case !c.applyObject(ctx, answer.Gone, answer.CurrentSpec):
		// Without a pause the same plan would be refused for ever.
		c.pause.failed(ctx, "The CronJob can't be planned with", errUnusableSpec)
	}
	return false
}

// pauseAfterFailures suspends the CronJob, which has asked for that.
func (c *runningCronJob) pauseAfterFailures(ctx workflow.Context) {
	paused := schedule.Paused(c.state)
	request := protocol.SetSuspendRequest{
		Kind: protocol.CronJobKind, Object: c.reference, AfterFailures: true, Basis: c.state.Basis,
		Wish: protocol.Wish{Suspend: true, Note: protocol.SignalNote{By: "pauseAfterFailures", Note: paused.PausedWhy}, At: workflow.Now(ctx)},
	}
	result, err := perform(ctx, setSuspend, "suspend "+c.reference.Name+" after failures", request, callOptions{givesWay: c.mailbox.steered})
	switch {
	case errors.Is(err, errGaveWay):
		return
	case err != nil && !final(err):
		c.pause.failed(ctx, "Suspending the CronJob after failures failed", err)
		return
	case err != nil:
		// The object is the truth.
		workflow.GetLogger(ctx).Warn("The API server refuses to have the CronJob suspended after failures", "error", err)
		c.state = schedule.PauseRefused(c.state, shortError(err))
	case result.Overtaken:
		c.isOvertaken(ctx)
	default:
		if result.CronJobSpec != nil && result.CronJobSpec.Suspend {
			c.state = paused
		}
		news := c.applyObject(ctx, result.Gone || result.Foreign, result.CronJobSpec)
		switch {
		case news:
		case !c.toldAgain.Equal(c.state.LastFailure):
			// The object's status has fewer failures: it is written again.
			c.toldAgain = c.state.LastFailure
			c.state = c.state.StatusUnknown()
		default:
			c.state = schedule.PauseRefused(c.state, "its status does not say so")
		}
	}
	c.pause.reset()
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
		parts = append(parts, wanted.Message)
	}
	if prune > 0 {
		parts = append(parts, "delete old jobs")
	}
	switch {
	case len(parts) > 0:
		return clip.Text(strings.Join(parts, ", "), maxSummary)
	case plan.Status == nil:
		return "check the template"
	}
	return "update status"
}

// maxSummary bounds a summary, in bytes; the server accepts 400.
const maxSummary = 200
