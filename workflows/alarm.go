package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// alarm is the one timer a workflow keeps. It keeps running if it goes off no later than wanted: an early wake costs
// less than replacing the timer with every new fact.
type alarm struct {
	at     time.Time
	reason string
	timer  workflow.Future
	cancel workflow.CancelFunc
}

// set arms the alarm; a zero time disarms it. A timer whose time has passed is replaced: the server may have lost it.
func (a *alarm) set(ctx workflow.Context, at time.Time, reason string) {
	if a.timer != nil && a.reason == reason && a.at.After(workflow.Now(ctx)) && !a.at.After(at) {
		return
	}
	a.stop()
	if at.IsZero() {
		return
	}
	timerCtx, cancel := workflow.WithCancel(ctx)
	options := workflow.TimerOptions{Summary: reason + " " + timeText(at)}
	*a = alarm{at, reason, workflow.NewTimerWithOptions(timerCtx, at.Sub(workflow.Now(ctx)), options), cancel}
}

// ringing reports whether the alarm went off; it is disarmed then.
func (a *alarm) ringing() bool {
	if a.timer == nil || !a.timer.IsReady() {
		return false
	}
	*a = alarm{}
	return true
}

// by reports whether the alarm has yet to go off, and does so by a time.
func (a *alarm) by(at time.Time) bool {
	return a != nil && a.timer != nil && !a.timer.IsReady() && !a.at.After(at)
}

func (a *alarm) stop() {
	if a.timer != nil && !a.timer.IsReady() {
		a.cancel()
	}
	*a = alarm{}
}

const (
	// pauseBase and pauseCap bound the pause after a failed call.
	pauseBase = time.Second
	pauseCap  = time.Minute
)

// backoff spaces the repetitions of what failed: it doubles with each failure in a row.
type backoff struct {
	failures int
	until    time.Time
}

// failed begins a pause after a call that failed.
func (b *backoff) failed(ctx workflow.Context, what string, err error) {
	b.begin(workflow.Now(ctx))
	workflow.GetLogger(ctx).Error(what, "error", err, "until", b.until)
}

// begin notes one more failure, and begins the pause after it.
func (b *backoff) begin(now time.Time) {
	b.until = now.Add(min(pauseBase<<min(b.failures, 10), pauseCap))
	b.failures++
}

// over reports whether the pause has ended.
func (b *backoff) over(now time.Time) bool { return !now.Before(b.until) }

// reset ends the pause and forgets the failures.
func (b *backoff) reset() { *b = backoff{} }
