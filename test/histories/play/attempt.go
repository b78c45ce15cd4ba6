package play

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/log"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
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

// Environment returns a test environment for one attempt, which says nothing.
func Environment() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(Silent())
	return suite.NewTestActivityEnvironment()
}

// Silent is a logger that says nothing.
func Silent() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// Final reports whether repeating a call can't help.
func Final(err error) bool {
	var application *sdk.ApplicationError
	return sdk.IsCanceledError(err) || errors.As(err, &application) && application.NonRetryable()
}
