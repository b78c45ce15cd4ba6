package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"ostinato.dev/ostinato/internal/lease"
)

type leaseKey struct{}

// keep reports now and then that the attempt goes on, until it is stopped, and keeps its lease for
// owned. Of a local attempt there is nothing to report: it ends with its context.
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
	go kept.Keep(reporting, func() { activity.RecordHeartbeat(ctx) })
	return context.WithValue(ctx, leaseKey{}, kept), quit
}

// owned returns the context in which an attempt may write what only one attempt at a time may.
func owned(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if kept, _ := ctx.Value(leaseKey{}).(*lease.Lease); kept != nil {
		return kept.Owned(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, nil
}
