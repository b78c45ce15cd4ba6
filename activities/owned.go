package activities

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/lease"
)

// Heartbeater tells Temporal that an attempt of an activity goes on; client.Client is one.
// It returns an error when the attempt was given up.
type Heartbeater interface {
	RecordActivityHeartbeat(ctx context.Context, taskToken []byte, details ...any) error
}

type leaseKey struct{}

// writeTimeout is longer than the API server works on a write: 34 s.
const writeTimeout = 40 * time.Second

// keep reports now and then that the attempt goes on, until it is stopped, and keeps its lease for
// owned: an attempt that was cancelled ends with the answers to what it has sent. A local attempt reports nothing: it ends with
// its context.
func (a *Activities) keep(ctx context.Context) (_ context.Context, stop func()) {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return ctx, func() {}
	}
	attempt := ctx
	timeout := cmp.Or(info.HeartbeatTimeout, info.StartToCloseTimeout)
	kept := lease.New(timeout, func(ctx context.Context) error {
		err := a.heartbeat(ctx, info.TaskToken)
		if temporal.IsCanceledError(err) {
			// The attempt has the call on, and is to end: the SDK hears of that by a report of its own.
			lost(attempt)()
			return nil
		}
		if err != nil {
			return fmt.Errorf("ask Temporal whether the attempt goes on: %w", err)
		}
		return nil
	})
	reporting, quit := context.WithCancel(context.WithoutCancel(ctx))
	go kept.Keep(reporting, lost(ctx))
	return context.WithValue(ctx, leaseKey{}, kept), quit
}

// heartbeat reports once that an attempt goes on, and returns what Temporal has answered.
func (a *Activities) heartbeat(ctx context.Context, token []byte, details ...any) error {
	if a.Heartbeats == nil {
		activity.RecordHeartbeat(ctx, details...)
		return nil
	}
	return a.Heartbeats.RecordActivityHeartbeat(ctx, token, details...)
}

// lost is for an attempt that is lost: the SDK hears of that by a report of its own, and ends the attempt.
func lost(ctx context.Context) func() { return func() { activity.RecordHeartbeat(ctx) } }

// reportIn reports once, a time from now, unless the wait is over before.
func (a *Activities) reportIn(ctx, waiting context.Context, left time.Duration) {
	kept, found := ctx.Value(leaseKey{}).(*lease.Lease)
	if !found {
		return
	}
	timer := a.Clock.NewTimer(left)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			kept.Report(ctx, lost(ctx))
		case <-waiting.Done():
		}
	}()
}

// owned returns the context in which an attempt may write what only one attempt at a time may.
func owned(ctx context.Context) (context.Context, context.CancelFunc, error) {
	kept, found := ctx.Value(leaseKey{}).(*lease.Lease)
	outlasts, _ := ctx.Value(outlastsKey{}).(bool)
	if found && !outlasts {
		return kept.Owned(ctx)
	}
	if found {
		if err := kept.Ask(ctx); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, nil
}

type outlastsKey struct{}

// outlasting returns the context of writes that begin with the lease of the attempt, and go on after its end.
func outlasting(ctx context.Context) context.Context {
	return context.WithValue(ctx, outlastsKey{}, true)
}

// write sends one write of an attempt that has its call for certain and was not given up. What was sent outlasts a cancellation
// of the attempt, which ends with the answer: no write arrives beside the next plan.
func write[Answer any](ctx context.Context, send func(context.Context) (Answer, error)) (answer Answer, err error) {
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	sending, release, err := owned(sending)
	if err != nil {
		return answer, err
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	return send(sending)
}

// leavingAnswers ends an attempt early enough for the answers to what it has sent, if it has time for much else. A local attempt
// has not.
func leavingAnswers(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, bounded := ctx.Deadline(); bounded && time.Until(deadline) > 2*writeTimeout {
		return context.WithDeadline(ctx, deadline.Add(-writeTimeout))
	}
	return context.WithCancel(ctx)
}
