package activities

import (
	"context"
	"errors"
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
