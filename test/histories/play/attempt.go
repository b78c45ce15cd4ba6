package play

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"ostinato.dev/ostinato/internal/fixture/asking"
)

// Attempt is one of an activity, until its context ends.
type Attempt func(ctx context.Context) Answer

// Answer is that of an activity.
type Answer struct {
	Result any
	Err    error
}

// Running is an attempt that is under way.
type Running struct {
	cancel context.CancelFunc
	done   chan Answer
}

// start begins an attempt that may take so long, 0 for any time.
func start(within context.Context, perform Attempt, timeout time.Duration) *Running {
	ctx, cancel := context.WithCancel(within)
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(within, timeout)
	}
	r := &Running{cancel, make(chan Answer, 1)}
	go func() {
		defer cancel()
		defer close(r.done)
		r.done <- perform(ctx)
	}()
	return r
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

func (b *boundedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
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
