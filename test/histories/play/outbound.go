package play

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
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

func (o *outbound) GetInfo(ctx workflow.Context) *workflow.Info {
	info := *o.Next.GetInfo(ctx)
	info.OriginalRunID = info.WorkflowExecution.RunID
	if o.run.Reset {
		info.OriginalRunID = "reset"
	}
	return &info
}

func (o *outbound) Await(ctx workflow.Context, condition func() bool) error {
	if ctx.Value(handlingKey{}) != nil {
		return o.Next.Await(ctx, condition)
	}
	for !condition() {
		o.run.wait(ctx)
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
		o.run.wait(ctx)
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
	o.run.asks("local " + name)
	tried := &called{run: o.run, ctx: ctx}
	o.run.playing(func() {
		given := o.run.Temporal.Local(func(within context.Context) Answer { return o.locally(within, options, perform) })
		tried.answer = &given
	})
	return tried
}

// locally makes the attempts of a local activity, within one workflow task, as long as its process is there.
func (o *outbound) locally(within context.Context, options workflow.LocalActivityOptions, perform Attempt) (given Answer) {
	if options.ScheduleToCloseTimeout > 0 {
		budget, cancel := context.WithTimeout(within, options.ScheduleToCloseTimeout)
		defer cancel()
		within = budget
	}
	for attempt := int32(1); ; attempt++ {
		bounded, cancel := context.WithTimeout(within, options.StartToCloseTimeout)
		// As the SDK does it, an attempt that is out of time is left to itself.
		answers := make(chan Answer, 1)
		go func() { answers <- perform(bounded) }()
		select {
		case given = <-answers:
		case <-bounded.Done():
			given = Answer{Err: context.DeadlineExceeded}
		}
		cancel()
		if given.Err == nil || Final(given.Err) || attempt == options.RetryPolicy.MaximumAttempts || o.run.Temporal.Lost() {
			return given
		}
		select {
		case <-within.Done():
			return given
		case <-time.After(options.RetryPolicy.InitialInterval):
		}
	}
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, arguments ...any) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	o.run.asks(name)
	number := o.run.Temporal.Call(o.run.Attempt(name, arguments, false), Options{
		First: options.RetryPolicy.InitialInterval, Last: options.RetryPolicy.MaximumInterval,
		Attempt: options.StartToCloseTimeout, Heartbeat: options.HeartbeatTimeout, Budget: options.ScheduleToCloseTimeout,
	})
	future := &called{run: o.run, ctx: ctx, number: number, waits: options.WaitForCancellation}
	o.run.calls = append(o.run.calls, future)
	return future
}

func (o *outbound) SideEffect(ctx workflow.Context, make func(workflow.Context) any) converter.EncodedValue {
	o.run.asks("note")
	noted := o.run.Temporal.Note(func() any {
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(make(ctx))
		if err != nil {
			panic(err)
		}
		return payloads
	})
	return client.NewValue(noted.(*commonpb.Payloads))
}

// called is the future of an activity.
type called struct {
	run    *Run
	ctx    workflow.Context
	number int
	// waits says that a cancelled activity ends when its attempt does; cancelled that Temporal knows.
	waits, cancelled bool
	answer           *Answer
}

func (a *called) IsReady() bool {
	a.heed()
	return a.answer != nil
}

// heed cancels the activity where its context is.
func (a *called) heed() {
	if a.answer != nil || a.cancelled || a.ctx.Err() == nil {
		return
	}
	a.cancelled = true
	if a.waits {
		a.run.Temporal.Cancel(a.number)
		return
	}
	a.run.Temporal.Abandon(a.number)
	a.answer = &Answer{Err: sdk.NewCanceledError()}
}

// Get waits for the answer.
func (a *called) Get(ctx workflow.Context, into any) error {
	if ctx.Value(handlingKey{}) != nil {
		// The workflow waits for the next task, and not the handler of an update.
		if err := workflow.Await(ctx, a.IsReady); err != nil {
			return err
		}
	}
	if a.number == 0 && ctx.Value(handlingKey{}) == nil {
		// A local activity goes on within the task.
		a.run.handles(ctx)
	}
	for !a.IsReady() {
		a.run.wait(ctx)
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

func (t *timer) Get(ctx workflow.Context, _ any) error {
	for !t.IsReady() {
		t.run.wait(ctx)
	}
	return t.ctx.Err()
}
