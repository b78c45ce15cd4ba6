package ledger

import (
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/clip"
)

// MaxSuspensions bounds Ledger.Suspensions: they stay when the rows of the same time have gone, since who has suspended a CronJob is
// asked weeks later.
const MaxSuspensions = 20

// Suspension is a stretch of time during which the CronJob was suspended.
type Suspension struct {
	From time.Time `json:"from"`
	// To is zero while it lasts.
	To time.Time `json:"to,omitzero"`
	// Suspended and Resumed say by whom it was begun and ended, when, through what and why, as far as the object told.
	Suspended string `json:"suspended,omitempty"`
	Resumed   string `json:"resumed,omitempty"`
}

// Covers reports whether a time fell into the suspension.
func (s Suspension) Covers(at time.Time) bool {
	return !at.Before(s.From) && (s.To.IsZero() || at.Before(s.To))
}

// Suspend returns the ledger with a suspension that begins. One that lasts goes on.
func (l Ledger) Suspend(from time.Time) Ledger {
	if last := len(l.Suspensions) - 1; last >= 0 && l.Suspensions[last].To.IsZero() {
		return l
	}
	l.Suspensions = append(slices.Clip(l.Suspensions), Suspension{From: from})
	l.Suspensions = l.Suspensions[max(len(l.Suspensions)-MaxSuspensions, 0):]
	return l
}

// Resume returns the ledger after the suspension that began at a time has ended.
func (l Ledger) Resume(from, to time.Time) Ledger {
	l = l.Suspend(from)
	l.Suspensions = slices.Clone(l.Suspensions)
	l.Suspensions[len(l.Suspensions)-1].To = to
	return l
}

// Steered returns the ledger with who has begun the last suspension, or ended it. What is known stays.
func (l Ledger) Steered(who string) Ledger {
	last := len(l.Suspensions) - 1
	if last < 0 || who == "" {
		return l
	}
	l.Suspensions = slices.Clone(l.Suspensions)
	said := &l.Suspensions[last].Suspended
	if !l.Suspensions[last].To.IsZero() {
		said = &l.Suspensions[last].Resumed
	}
	if *said == "" {
		*said = clip.Message(who)
	}
	return l
}
