package workflows

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// CronJob is the workflow of one CronJob object. It sleeps until the next due
// time, asks the planner, carries out what that says and sleeps again, until the
// object is gone. It returns an error only when it is cancelled or continues as
// new.
func CronJob(ctx workflow.Context, input protocol.CronJobInput) error {
	c := newCronJob(ctx, input)
	err := workflow.SetQueryHandler(ctx, protocol.DescribeQuery, c.describe)
	if err != nil {
		return fmt.Errorf("set query handler of CronJob %s/%s: %w", c.cronJob.Namespace, c.cronJob.Name, err)
	}
	return c.run(ctx)
}

// cronJob is a running CronJob workflow.
type cronJob struct {
	cluster          string
	cronJob          protocol.ObjectReference
	searchAttributes bool

	// spec and state are what the planner works on.
	spec  schedule.Spec
	state schedule.State

	signals []signalReceiver
	// inbox holds the signals that were received and not yet handled.
	inbox []any
	// suspend is a suspend or resume by signal that is still to be written to
	// the object.
	suspend *suspendChange

	// children are the runs whose end this workflow run hears of by itself.
	children []*childRun
	timer    *wakeTimer
	// pause is the back-off after a call that can't succeed as things are.
	pause schedule.Backoff

	// gone is set when the object no longer exists.
	gone bool
	// successor is the input of the object that took the name.
	successor *protocol.CronJobInput
}

// wakeTimer is the one timer of a CronJob workflow.
type wakeTimer struct {
	deadline time.Time
	future   workflow.Future
	cancel   workflow.CancelFunc
}

func newCronJob(ctx workflow.Context, input protocol.CronJobInput) *cronJob {
	c := &cronJob{
		cluster:          input.Cluster,
		cronJob:          input.CronJob,
		searchAttributes: input.SearchAttributes,
		spec:             input.Spec,
	}
	if input.State != nil {
		c.state = *input.State
	} else {
		c.state = schedule.NewState(schedule.Identity{
			Namespace: input.CronJob.Namespace,
			Name:      input.CronJob.Name,
			UID:       input.CronJob.UID,
			Created:   input.Created,
		}, input.Status, finishedOf(input.Children))
		c.state.TriggerSequence = workflow.GetInfo(ctx).WorkflowStartTime.UnixMilli()
	}
	c.signals = c.receivers(ctx)
	return c
}

func finishedOf(children []protocol.FinishedJob) []schedule.Finished {
	var finished []schedule.Finished
	for _, child := range children {
		if child.Outcome == job.Deleted {
			continue
		}
		finished = append(finished, schedule.Finished{
			Run:            child.Run,
			Condition:      batchv1.JobConditionType(child.Outcome),
			StartTime:      child.StartTime,
			CompletionTime: child.CompletionTime,
		})
	}
	return finished
}

// run is the main loop: handle what was received, act, wait.
func (c *cronJob) run(ctx workflow.Context) error {
	for {
		c.reconcile(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case c.successor != nil, c.gone:
			return c.finish(ctx)
		case c.mayContinueAsNew(ctx):
			return c.continueAsNew(ctx)
		}
		workflow.SetCurrentDetails(ctx, c.details())
		c.wait(ctx)
	}
}

// reconcile acts until the planner has nothing more to do, then sets the timer.
func (c *cronJob) reconcile(ctx workflow.Context) {
	for ctx.Err() == nil {
		c.receiveAll()
		c.handleAll(ctx)
		if c.gone || c.successor != nil {
			return
		}
		now := workflow.Now(ctx)
		if now.Before(c.pause.Until) {
			c.arm(ctx, c.pause.Until, "retry")
			return
		}
		if c.suspend != nil {
			c.writeSuspend(ctx)
			continue
		}
		c.evaluate(ctx, now)
		plan := schedule.Decide(c.state, c.spec, now)
		if plan.Idle() {
			c.state = plan.Next
			c.armFor(ctx, plan)
			return
		}
		c.execute(ctx, plan)
	}
}

// evaluate records new due times when the known ones have run out, so that a
// replay by a worker with other time zone data takes the same decisions.
func (c *cronJob) evaluate(ctx workflow.Context, now time.Time) {
	if !schedule.NeedsEvaluation(c.state, c.spec, now) {
		return
	}
	spec, anchor := c.spec, c.state.Anchor()
	recorded := workflow.SideEffect(ctx, func(workflow.Context) any {
		return schedule.Evaluate(spec, anchor, now)
	})
	var evaluation schedule.Evaluation
	if err := recorded.Get(&evaluation); err != nil {
		// Only a history written by other code can bring this about: the workflow
		// task fails and is repeated until a worker can read it.
		panic(fmt.Errorf("read recorded due times of CronJob %s/%s: %w", c.cronJob.Namespace, c.cronJob.Name, err))
	}
	c.state = schedule.Take(c.state, c.spec, evaluation, now)
}

// armFor sets the timer to a plan's wake.
func (c *cronJob) armFor(ctx workflow.Context, plan schedule.Plan) {
	what := "retry"
	if upcoming := plan.Next.Calendar.Upcoming; len(upcoming) > 0 && upcoming[0].Equal(plan.Wake) {
		what = "next run"
	}
	c.arm(ctx, plan.Wake, what)
}

// arm makes the timer fire at the deadline; zero means not at all. A timer that
// is set already is kept.
func (c *cronJob) arm(ctx workflow.Context, deadline time.Time, what string) {
	if c.timer != nil && c.timer.deadline.Equal(deadline) {
		return
	}
	c.disarm()
	if deadline.IsZero() {
		return
	}
	timerCtx, cancel := workflow.WithCancel(ctx)
	future := workflow.NewTimerWithOptions(timerCtx, max(deadline.Sub(workflow.Now(ctx)), 0),
		workflow.TimerOptions{Summary: what + " " + deadline.UTC().Format(time.RFC3339)})
	c.timer = &wakeTimer{deadline: deadline, future: future, cancel: cancel}
}

func (c *cronJob) disarm() {
	if c.timer != nil {
		c.timer.cancel()
		c.timer = nil
	}
}

// wait blocks until the timer fires, a signal arrives, a run starts or ends, or
// the workflow is cancelled, and takes in all that has come by then.
func (c *cronJob) wait(ctx workflow.Context) {
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
	if timer := c.timer; timer != nil {
		selector.AddFuture(timer.future, func(workflow.Future) {
			if c.timer == timer {
				c.timer = nil
			}
		})
	}
	c.listen(selector)
	c.watchChildren(ctx, selector)
	selector.Select(ctx)
	for ctx.Err() == nil && selector.HasPending() {
		selector.Select(ctx)
	}
}
