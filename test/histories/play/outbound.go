package play

import (
	"context"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// outbound answers what a workflow asks of Temporal.
type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	run *Run
}

func (o *outbound) Now(workflow.Context) time.Time { return o.run.now() }

func (o *outbound) Await(_ workflow.Context, condition func() bool) error {
	for !condition() {
		o.run.next()
	}
	return nil
}

func (o *outbound) AwaitWithTimeout(ctx workflow.Context, timeout time.Duration, condition func() bool) (bool, error) {
	over := o.run.timer(ctx, timeout)
	defer func() { over.at = time.Time{} }()
	for !condition() {
		if over.IsReady() {
			return false, nil
		}
		o.run.next()
	}
	return true, nil
}

func (o *outbound) NewTimer(ctx workflow.Context, after time.Duration) workflow.Future {
	return o.run.timer(ctx, after)
}

func (o *outbound) NewTimerWithOptions(ctx workflow.Context, after time.Duration, _ workflow.TimerOptions) workflow.Future {
	return o.run.timer(ctx, after)
}

func (o *outbound) Sleep(ctx workflow.Context, duration time.Duration) error {
	return o.run.timer(ctx, duration).Get(ctx, nil)
}

func (o *outbound) ExecuteLocalActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	options := workflow.GetLocalActivityOptions(ctx)
	perform := o.run.Attempt(name, arguments, true)
	tried := &activity{run: o.run, ctx: ctx}
	for attempt := int32(1); ; attempt++ {
		var given Answer
		o.run.playing(func() {
			given = o.run.Temporal.Local(func(within context.Context) Answer {
				if attempt > 1 {
					time.Sleep(options.RetryPolicy.InitialInterval)
				}
				within, cancel := context.WithTimeout(within, options.StartToCloseTimeout)
				defer cancel()
				return perform(within)
			})
		})
		if tried.answer = &given; given.Err == nil || Final(given.Err) || attempt == options.RetryPolicy.MaximumAttempts {
			return tried
		}
	}
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	o.run.Temporal.Call(o.run.Attempt(name, arguments, false), Options{
		First: options.RetryPolicy.InitialInterval, Last: options.RetryPolicy.MaximumInterval,
		Attempt: options.StartToCloseTimeout, Budget: options.ScheduleToCloseTimeout,
	})
	o.run.call = &activity{run: o.run, ctx: ctx}
	return o.run.call
}

func (o *outbound) ExecuteChildWorkflow(workflow.Context, string, ...any) workflow.ChildWorkflowFuture {
	panic("child workflows are not played here")
}

func (o *outbound) SideEffect(workflow.Context, func(workflow.Context) any) converter.EncodedValue {
	panic("side effects are not played here")
}

// activity is the future of one.
type activity struct {
	run    *Run
	ctx    workflow.Context
	answer *Answer
}

func (a *activity) IsReady() bool { return a.answer != nil }

// Get waits for the answer. An activity whose context is cancelled is given up first.
func (a *activity) Get(_ workflow.Context, into any) error {
	for a.answer == nil {
		if a.ctx.Err() == nil {
			a.run.next()
			continue
		}
		a.run.playing(func() { a.run.take(a.run.Temporal.GiveUp(sdk.NewCanceledError())) })
	}
	if a.answer.Err != nil || into == nil {
		return a.answer.Err
	}
	return a.answer.Result.(converter.EncodedValue).Get(into)
}

// timer is the future of one.
type timer struct {
	run *Run
	ctx workflow.Context
	at  time.Time
}

func (r *Run) timer(ctx workflow.Context, after time.Duration) *timer {
	t := &timer{r, ctx, r.now().Add(after)}
	r.timers = append(r.timers, t)
	return t
}

func (t *timer) IsReady() bool { return t.ctx.Err() != nil || !t.run.now().Before(t.at) }

func (t *timer) Get(workflow.Context, any) error {
	for !t.IsReady() {
		t.run.next()
	}
	return t.ctx.Err()
}
