package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
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

// owned returns the context in which an attempt may write what only one attempt at a time
// may: as long as it is certain that Temporal has not given it up for another. The worker is
// told of that with its next heartbeat only, and an API server that comes back then would
// take the write of an attempt that was given up.
//
// A local attempt ends with its context; tooOld says whether it may begin.
func (a *Activities) owned(ctx context.Context) (context.Context, context.CancelFunc, error) {
	info := activity.GetInfo(ctx)
	if a.Heartbeats == nil || info.IsLocalActivity {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	timeout := info.HeartbeatTimeout
	if timeout == 0 {
		timeout = info.StartToCloseTimeout
	}
	begun := time.Now()
	if age := a.Clock.Now().Sub(info.StartedTime); age.Abs() < timeout/2 {
		// Temporal can't have given it up yet.
		ctx, cancel := context.WithTimeout(ctx, timeout/2)
		return ctx, cancel, nil
	}
	asking, answered := context.WithTimeout(ctx, timeout/2)
	defer answered()
	if err := a.Heartbeats.RecordActivityHeartbeat(asking, info.TaskToken); err != nil {
		return nil, nil, fmt.Errorf("ask Temporal whether the attempt goes on: %w", err)
	}
	ctx, cancel := context.WithDeadline(ctx, begun.Add(timeout*9/10))
	return ctx, cancel, nil
}
