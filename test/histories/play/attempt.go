package play

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// Attempt is one of an activity, until its context ends.
type Attempt func(ctx context.Context) Answer

// Answer is that of an activity.
type Answer struct {
	Result any
	Err    error
}

// running is an attempt that is under way.
type running struct {
	began time.Time
	// heartbeat is how long it may be silent; 0 for any time.
	heartbeat time.Duration
	cancel    context.CancelFunc
	done      chan Answer
	// givenUp says that Temporal has given the attempt up. It may go on all the same.
	givenUp atomic.Bool
	// cancelled says that the workflow does not want it any more.
	cancelled atomic.Bool
}

type runningKey struct{}

// start begins an attempt that may take so long, 0 for any time, and be silent so long. The agenda is told of its end.
func start(within context.Context, agenda *Agenda, perform Attempt, timeout, heartbeat time.Duration) *running {
	ctx, cancel := context.WithCancel(within)
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(within, timeout)
	}
	r := &running{began: time.Now(), heartbeat: heartbeat, cancel: cancel, done: make(chan Answer, 1)}
	go func() {
		defer cancel()
		r.done <- perform(context.WithValue(ctx, runningKey{}, r))
		close(r.done)
		agenda.wake()
	}()
	return r
}

// ended returns the answer of an attempt that has ended; nil while it goes on.
func (r *running) ended() *Answer {
	select {
	case given := <-r.done:
		return &given
	default:
		return nil
	}
}

// Environment returns a test environment for one attempt of the object's own workflow, which says nothing and ends with a context.
func Environment(within context.Context) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(Silent())
	environment := suite.NewTestActivityEnvironment()
	return environment.SetWorkerOptions(worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{&bounded{within: within}, asking.Interceptor(asking.Own)},
	})
}

// bounded ends activities with a context.
type bounded struct {
	interceptor.WorkerInterceptorBase
	within context.Context
}

func (b *bounded) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	inbound := &boundedActivity{within: b.within}
	inbound.Next = next
	return inbound
}

type boundedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	within context.Context
}

func (b *boundedActivity) Init(next interceptor.ActivityOutboundInterceptor) error {
	outbound := &boundedOutbound{}
	outbound.Next = next
	return b.Next.Init(outbound)
}

// boundedOutbound tells an attempt what Temporal knows of it.
type boundedOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
}

func (b *boundedOutbound) GetInfo(ctx context.Context) activity.Info {
	info := b.Next.GetInfo(ctx)
	if r, known := ctx.Value(runningKey{}).(*running); known {
		info.HeartbeatTimeout, info.StartedTime = r.heartbeat, r.began
	}
	if tries, known := ctx.Value(triesKey{}).(int32); known {
		info.Attempt = tries
	}
	return info
}

// valued is a context with the values of another one.
type valued struct {
	context.Context
	of context.Context
}

func (v valued) Value(key any) any {
	if value := v.Context.Value(key); value != nil {
		return value
	}
	return v.of.Value(key)
}

func (b *boundedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancel(valued{ctx, b.within})
	defer cancel()
	defer context.AfterFunc(b.within, cancel)()
	return b.Next.ExecuteActivity(ctx, in)
}

// Silent is a logger that says nothing.
func Silent() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// Final reports whether repeating a call can't help.
func Final(err error) bool {
	var application *sdk.ApplicationError
	return sdk.IsCanceledError(err) || errors.As(err, &application) && application.NonRetryable()
}
