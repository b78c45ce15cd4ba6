package play

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"
)

// errGivenUp says that Temporal knows nothing of an attempt, or no more.
var errGivenUp = errors.New("the attempt was given up")

// hearing is whether Temporal hears of attempts.
type hearing struct {
	// deaf is since when, and until when, it hears of none.
	deaf atomic.Pointer[stretch]
}

type stretch struct{ from, to time.Time }

// Deafen has Temporal miss what attempts report for a while.
func (h *hearing) Deafen(duration time.Duration) {
	now := time.Now()
	h.deaf.Store(&stretch{now, now.Add(duration)})
}

func (h *hearing) isDeaf() bool {
	deaf := h.deaf.Load()
	return deaf != nil && time.Now().Before(deaf.to)
}

// missed is when Temporal gives an attempt up whose reports it has not heard; zero for never. Any other attempt has reported in time.
func (h *hearing) missed(r *running, timeout time.Duration) time.Time {
	if !h.isDeaf() || timeout == 0 {
		return time.Time{}
	}
	heard := h.deaf.Load().from
	if r.began.After(heard) {
		heard = r.began
	}
	return heard.Add(timeout)
}

// RecordActivityHeartbeat tells Temporal that an attempt goes on: an error says that it was given up. What Temporal misses is not
// answered.
func (h *hearing) RecordActivityHeartbeat(ctx context.Context, _ []byte, _ ...any) error {
	if h.isDeaf() {
		<-ctx.Done()
		return ctx.Err()
	}
	r, known := ctx.Value(runningKey{}).(*running)
	if known && r.givenUp.Load() {
		r.cancel()
		return errGivenUp
	}
	if known && r.cancelled.Load() {
		return temporal.NewCanceledError()
	}
	return nil
}
