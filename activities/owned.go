package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"ostinato.dev/ostinato/internal/lease"
)

// Heartbeater tells Temporal that an attempt of an activity goes on; client.Client is one.
// It returns an error when the attempt was given up.
type Heartbeater interface {
	RecordActivityHeartbeat(ctx context.Context, taskToken []byte, details ...any) error
}

// taskTrust is how old the workflow task of a local attempt may be, by this process's clock:
// half of the time after which Temporal gives one up that is not answered.
const taskTrust = 5 * time.Second

// errTaskTooOld says that a local attempt may belong to a workflow task that was given up for
// another. The workflow goes on with a regular one.
var errTaskTooOld = errors.New("its workflow task began too long ago")

// tooOld returns an error where a local attempt, of the workflow task that began then, writes
// nothing: a worker that stood still would carry out what was planned anew long since.
func (a *Activities) tooOld(ctx context.Context, began time.Time) error {
	if !activity.GetInfo(ctx).IsLocalActivity || began.IsZero() || a.Clock.Now().Sub(began).Abs() <= taskTrust {
		return nil
	}
	return errTaskTooOld
}

type leaseKey struct{}

// keptLease is the lease of an attempt; lost ends the attempt.
type keptLease struct {
	*lease.Lease
	lost func()
}

// keep reports now and then that the attempt goes on, until it is stopped, and keeps its lease for
// owned. A local attempt reports nothing: it ends with its context.
func (a *Activities) keep(ctx context.Context) (_ context.Context, stop func()) {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return ctx, func() {}
	}
	timeout := info.HeartbeatTimeout
	if timeout == 0 {
		timeout = info.StartToCloseTimeout
	}
	kept := lease.New(timeout, a.Clock.Now().Sub(info.StartedTime), func(ctx context.Context) error {
		if a.Heartbeats == nil {
			activity.RecordHeartbeat(ctx)
			return nil
		}
		if err := a.Heartbeats.RecordActivityHeartbeat(ctx, info.TaskToken); err != nil {
			return fmt.Errorf("ask Temporal whether the attempt goes on: %w", err)
		}
		return nil
	})
	reporting, quit := context.WithCancel(ctx)
	// The SDK hears of a lost attempt by a report of its own, and ends it.
	lost := func() { activity.RecordHeartbeat(ctx) }
	go kept.Keep(reporting, lost)
	return context.WithValue(ctx, leaseKey{}, keptLease{kept, lost}), quit
}

// reportIn reports once, a time from now, unless the wait is over before.
func (a *Activities) reportIn(ctx, waiting context.Context, left time.Duration) {
	kept, found := ctx.Value(leaseKey{}).(keptLease)
	if !found {
		return
	}
	timer := a.Clock.NewTimer(left)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			kept.Report(ctx, kept.lost)
		case <-waiting.Done():
		}
	}()
}

// owned returns the context in which an attempt may write what only one attempt at a time may.
func owned(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if kept, found := ctx.Value(leaseKey{}).(keptLease); found {
		return kept.Owned(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, nil
}
