// Package lease says until when an attempt of an activity has its call for certain. Temporal gives an attempt to another
// worker when its last report is older than the heartbeat timeout; the worker of the first hears of that with its next
// report only, and may have stood still in between.
package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Least is the shortest heartbeat timeout of Ostinato's activities. A writer of Temporal may ask for a shorter one:
// such an attempt reports as rarely as others, and writes nothing.
const Least = time.Second

const (
	// enough is what must be left of a lease for a write to begin.
	enough = time.Second
	// recent is how old a report is that makes another one needless.
	recent = time.Second
)

// errNoAnswer says that a report was not answered in time.
var errNoAnswer = errors.New("no answer in time")

// Lease is that of one attempt. It is renewed by reports that Temporal has answered.
type Lease struct {
	timeout time.Duration
	report  func(context.Context) error
	term    atomic.Pointer[term]
	// asking has room for one write that asks Temporal. Those beside it wait for its answer.
	asking chan struct{}
}

// term is what the last report has brought that Temporal has answered; the first is over.
type term struct{ asked, until time.Time }

// New returns the lease of an attempt that has just reached this process, and whose heartbeats have a timeout. How long it
// took to get here is not known, since clocks differ: the attempt has to ask before it writes. report tells Temporal that
// it goes on; its error says that it does not, or that there was no answer.
func New(timeout time.Duration, report func(context.Context) error) *Lease {
	l := &Lease{timeout: timeout, report: report, asking: make(chan struct{}, 1)}
	l.term.Store(&term{asked: time.Now()})
	return l
}

// Keep renews the lease until the context is done, at 11 to 13 twentieths of the timeout after the last report:
// attempts that begin at once do not all report at once. lost is called whenever a report has failed.
func (l *Lease) Keep(ctx context.Context, lost func()) {
	timeout := max(l.timeout, Least)
	pause := func() time.Duration { return timeout*11/20 + rand.N(timeout/10) }
	for left := pause(); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
		if left = pause() - l.silent(); left > 0 {
			continue // Another goroutine has reported meanwhile.
		}
		if l.renew(ctx) != nil && ctx.Err() == nil {
			lost()
		}
		left = pause()
	}
}

// Report renews the lease now, unless there was a report within the last second. lost is called if that has failed.
func (l *Lease) Report(ctx context.Context, lost func()) {
	if l.silent() >= recent && l.renew(ctx) != nil && ctx.Err() == nil {
		lost()
	}
}

// silent is how long ago the last report was.
func (l *Lease) silent() time.Duration { return time.Since(l.term.Load().asked) }

// Ask is Owned for a write that may outlast the lease: it reports whether the write may begin.
func (l *Lease) Ask(ctx context.Context) error {
	if l.timeout < Least {
		return fmt.Errorf("the heartbeat timeout is %s, want %s or more", l.timeout, Least)
	}
	return l.prolong(ctx)
}

// Owned returns a context that ends with the lease, for a write that only one attempt at a time may make: an API server
// that comes back would take that of an attempt which was given up. Where too little of the lease is left, it is
// renewed first, for as long as the context allows; an error says why it is not.
func (l *Lease) Owned(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := l.Ask(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		for left := l.left(); left > 0; left = l.left() {
			select {
			case <-time.After(left):
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel, nil
}

// prolong renews the lease if too little of it is left.
func (l *Lease) prolong(ctx context.Context) error {
	l.asking <- struct{}{}
	defer func() { <-l.asking }()
	for l.left() < min(l.timeout/4, enough) {
		// A busy server answers later: an attempt that ends for that only adds to its work.
		if err := l.renew(ctx); err != nil && (!errors.Is(err, errNoAnswer) || ctx.Err() != nil) {
			return err
		}
	}
	return nil
}

func (l *Lease) renew(ctx context.Context) error {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.timeout/2)
	defer cancel()
	if err := l.report(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return err
	}
	l.term.Store(&term{asked: asked, until: asked.Add(l.timeout * 9 / 10)})
	return nil
}

func (l *Lease) left() time.Duration { return time.Until(l.term.Load().until) }
