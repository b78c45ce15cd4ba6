package activities

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/herd"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// maxAhead is how far the clock by which a run comes due may be ahead of this process's
	// for its start to wait here, and maxBehind how far any clock may be behind.
	maxAhead, maxBehind = 3 * time.Second, 24 * time.Hour

	// An attempt is given back if this process's clock is behind the one by which the run comes due,
	// or if too many wait already. In the first case another worker may take it after clockRetry.
	givenBackForClock = "clock"
	givenBackForRoom  = "room"
	clockRetry        = 3 * time.Second

	// An attempt that waits for its time reports two to three seconds before it, so that the next report comes after most
	// starts are made, and a worker that is lost at that time is missed within four seconds.
	lastReport, lastReports = 2200 * time.Millisecond, 600 * time.Millisecond
)

// early returns how long the time of a run is away, by the clock of this process: 0 for a manual run, which has none.
func (a *Activities) early(start schedule.Start) time.Duration {
	if start.Manual && start.Backfill == 0 {
		return 0
	}
	return max(start.Scheduled.Sub(a.Clock.Now()), 0)
}

// givenBack is the error of an attempt for which the time of the run, or its turn, has not come. It is to be repeated after a time.
func (a *Activities) givenBack(reason string, start schedule.Start, retry time.Duration) error {
	a.Metrics.startsGivenBack.WithLabelValues(reason).Inc()
	return temporal.NewApplicationErrorWithOptions("the time of the run of "+start.Scheduled.UTC().Format(time.RFC3339)+
		" has not come, or there is no room for it", TooEarlyErrorType, temporal.ApplicationErrorOptions{NextRetryDelay: retry})
}

// hold waits until the time of the run has come, by the clock of this process. Where too many wait, the attempt is repeated when
// the time comes.
func (a *Activities) hold(ctx context.Context, namespace string, start schedule.Start) error {
	waiting, over := context.WithCancel(ctx)
	defer over()
	if left := a.early(start); left > lastReport+lastReports {
		// The answer says whether the start was cancelled meanwhile. All that wait for one time do not report at once.
		a.reportIn(ctx, waiting, left-lastReport-rand.N(lastReports))
	}
	_, err := a.herds.Hold(ctx, namespace, func() time.Duration { return a.early(start) })
	switch {
	case errors.Is(err, herd.ErrNoPlace):
		return a.givenBack(givenBackForRoom, start, a.early(start))
	case err != nil:
		return outage(err, "wait for the time of Job %s", start.Name)
	}
	return nil
}
