package workflows

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

func (c *runningCronJob) reasonToLook() bool {
	return c.stale || c.successor != nil || len(c.looks) > 0
}

// hear takes all that was received, in the history's order, and does what it asks for.
func (c *runningCronJob) hear(ctx workflow.Context) {
	c.takeChildren(ctx)
	c.receive(ctx)
	for !c.gone && !c.unread && c.pause.over(workflow.Now(ctx)) {
		looks := c.reasonToLook() && c.behind.over(workflow.Now(ctx))
		switch {
		case len(c.wishes) > 0 && !(looks && c.pause.failures > 0):
			// A look may take a minute, and what a person wishes is not to wait for it. If it has failed the look goes first.
			c.suspend(ctx)
		case looks:
			c.refresh(ctx)
		default:
			return
		}
		if c.unread {
			// What has come meanwhile is heard when the object was read.
			return
		}
		c.receive(ctx)
	}
}

// receive takes what signals say and updates have asked for.
func (c *runningCronJob) receive(ctx workflow.Context) {
	c.receiveSignals(ctx)
	for _, do := range c.asked {
		do(workflow.Now(ctx))
	}
	c.asked, c.askedBackfills = nil, nil
}

func (c *runningCronJob) receiveSignals(ctx workflow.Context) {
	for received := range c.mailbox.drain(ctx) {
		switch received.signal {
		case protocol.CronJobSpecSignal:
			c.receiveSpec(ctx, received)
		case protocol.JobSeenSignal:
			c.hearOfRun(ctx, received)
		case protocol.TriggerSignal:
			c.takeTrigger(ctx, received)
		case protocol.SuspendSignal, protocol.ResumeSignal:
			c.goOn()
			fallthrough
		default:
			for _, answer := range c.receiveCommon(ctx, received, steering.CronJobTakes) {
				c.state = schedule.Announce(c.state, answer)
			}
		}
	}
}

// receiveSpec takes the bridge's word that a CronJob has changed or is new. If the spec is known, the bridge misses our
// status on the object, which is then rewritten.
func (c *runningCronJob) receiveSpec(ctx workflow.Context, received message) {
	signal, ok := open[protocol.CronJobSpec](ctx, received)
	input := protocol.CronJobInput{
		CronJob: signal.CronJob, Spec: signal.Spec, SearchAttributes: c.searchAttributes, StatusAttributes: c.statusAttributes,
	}
	if !ok || !c.isAbout(ctx, signal.CronJob, input) {
		return
	}
	edited := digest(signal.Spec) != digest(c.spec)
	if edited {
		c.stale = true
	} else {
		c.state = c.state.StatusUnknown()
	}
	if edited || signal.Overdue {
		c.goOn()
	}
}

// hearOfRun notes that a run is to be looked at, unless no Job can have its name or UID.
func (c *runningCronJob) hearOfRun(ctx workflow.Context, received message) {
	seen, ok := open[protocol.JobSeen](ctx, received)
	run := schedule.Run{Name: seen.Name, UID: seen.UID}
	if ok && seen.CronJobUID == c.reference.UID && len(c.looks) < protocol.MaxLooks && !slices.Contains(c.looks, run) {
		c.looks = append(c.looks, run)
	}
}

// refresh reads the CronJob and the runs said to have started or ended. A successor stays only if it is a successor.
func (c *runningCronJob) refresh(ctx workflow.Context) {
	request := protocol.FindRunsRequest{CronJob: c.reference, Digest: digest(c.spec), Basis: c.state.Basis, Look: c.looks}
	result, err := perform(ctx, findRuns, "look at "+c.reference.Name, request, c.beforeNextStart(ctx, c.state))
	if err != nil {
		c.fellBehind(ctx, "Looking at the CronJob failed", err)
		return
	}
	c.behind.reset()
	if result.Overtaken {
		c.isOvertaken(ctx)
		return
	}
	if result.Behind {
		c.state = c.state.StatusUnknown()
	}
	c.stale, c.looks = false, c.looks[len(request.Look):]
	c.takeFound(ctx, result)
	if !c.gone {
		c.successor = nil
	}
}

// applyObject takes what an answer says about the CronJob, and reports whether it is news: it is gone, or has another spec.
func (c *runningCronJob) applyObject(ctx workflow.Context, gone bool, spec *schedule.Spec) (news bool) {
	c.gone = c.gone || gone
	if spec == nil || spec.Validate() != nil || digest(*spec) == digest(c.spec) {
		return c.gone
	}
	c.state = schedule.SpecChanged(c.state, c.spec, *spec, workflow.Now(ctx))
	c.spec = *spec
	return true
}

// takeFound takes in the runs that were looked up.
func (c *runningCronJob) takeFound(ctx workflow.Context, result protocol.FindRunsResult) {
	c.applyObject(ctx, result.Gone, result.CurrentSpec)
	if result.CallerHeader {
		c.state = schedule.BelieveCallers(c.state)
	}
	if result.Counts {
		c.state = schedule.CountRequests(c.state)
	}
	for _, ended := range result.Ended {
		c.runEnded(ctx, ended)
	}
	for _, child := range result.Children {
		if !c.state.Knows(child.Run) {
			// The workflow before this one may not have started it. One that runs stays.
			c.startChild(ctx, schedule.Start{Name: child.Run.Name, Scheduled: child.Run.Scheduled, Manual: child.Run.Manual}, child)
		}
	}
	for _, run := range result.Running {
		c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: run}})
	}
}

// suspend suspends or resumes the CronJob, as the first wish says. Nothing starts before the API server answers.
func (c *runningCronJob) suspend(ctx workflow.Context) {
	request, signal := protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Basis: c.state.Basis}, c.wishes[0].Signal()
	result, err := c.setSuspend(ctx, c.reference.Name, request, callOptions{}, c.receive)
	switch {
	case result.Overtaken:
		c.isOvertaken(ctx)
	case err == nil:
		c.applyObject(ctx, result.Gone || result.Foreign, result.CronJobSpec)
		if result.Suspender != nil {
			c.state = schedule.SuspendedBy(c.state, *result.Suspender)
		}
	case final(err):
		// The object is the truth.
		c.state = schedule.Announce(c.state, event.Warning("FailedUpdate", "Error writing spec.suspend for signal "+signal+": "+shortError(err)))
	}
}

// goOn ends the pauses: what was heard is reason enough to call again.
func (c *runningCronJob) goOn() { c.pause, c.behind = backoff{}, backoff{} }

// shortError is an error's innermost message, fit for an Event.
func shortError(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return clip.Text(application.Message(), maxSummary)
	}
	return clip.Text(err.Error(), maxSummary)
}
