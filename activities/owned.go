package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
)

// Heartbeater tells Temporal that an attempt of an activity goes on; client.Client is one.
// It returns an error when the attempt was given up.
type Heartbeater interface {
	RecordActivityHeartbeat(ctx context.Context, taskToken []byte, details ...any) error
}

// owned returns the context in which an attempt may write what only one attempt at a time
// may: as long as it is certain that Temporal has not given it up for another. The worker is
// told of that with its next heartbeat only, and an API server that comes back then would
// take the write of an attempt that was given up.
//
// A local attempt ends with its context, and belongs to a workflow task that may have been
// given up.
func (a *Activities) owned(ctx context.Context) (context.Context, context.CancelFunc, error) {
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		if err := a.askForTask(ctx, info.WorkflowExecution); err != nil {
			return nil, nil, err
		}
	}
	if a.Heartbeats == nil || info.IsLocalActivity {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	timeout := info.HeartbeatTimeout
	if timeout == 0 {
		timeout = info.StartToCloseTimeout
	}
	begun := time.Now()
	asking, answered := context.WithTimeout(ctx, timeout/2)
	defer answered()
	if err := a.Heartbeats.RecordActivityHeartbeat(asking, info.TaskToken); err != nil {
		return nil, nil, fmt.Errorf("ask Temporal whether the attempt goes on: %w", err)
	}
	ctx, cancel := context.WithDeadline(ctx, begun.Add(timeout*9/10))
	return ctx, cancel, nil
}
