package workflows

import "time"

const (
	// pauseBase and pauseCap bound the pause after a call that failed in a way that a
	// repetition at once can't change.
	pauseBase = time.Second
	pauseCap  = time.Minute
)

// backoff spaces the repetitions of what failed: it doubles with each failure in a row.
type backoff struct {
	failures int
	until    time.Time
}

// failed notes one more failure and returns the pause after it.
func (b *backoff) failed(now time.Time) time.Duration {
	pause := min(pauseBase<<min(b.failures, 10), pauseCap)
	b.failures++
	b.until = now.Add(pause)
	return pause
}

// over reports whether the pause has ended.
func (b *backoff) over(now time.Time) bool { return !now.Before(b.until) }

// reset ends the pause and forgets the failures.
func (b *backoff) reset() { *b = backoff{} }
