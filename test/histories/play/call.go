package play

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	sdk "go.temporal.io/sdk/temporal"
)

// Options bound a regular activity: the pause after its first failure, which doubles up to the last, 0 for ten seconds, how long an
// attempt may take, and be silent, and how long the call may be tried, 0 for any time.
type Options struct{ First, Last, Attempt, Heartbeat, Budget time.Duration }

// call is a regular activity that has no answer yet.
type call struct {
	Options
	// number counts the calls of a workflow.
	number  int
	perform Attempt
	// running is the attempt under way; nil where the next one is waited for.
	running *running
	// cancelled says that the workflow does not want it any more: there is no other attempt.
	cancelled bool
	// since is when it was asked for, failures and retry are how often it has failed, and when it is tried again.
	since    time.Time
	failures int
	retry    time.Time
}

const (
	// lastPause bounds the pause between two attempts where nothing else does.
	lastPause = 10 * time.Second
	// late is how much later than a worker Temporal sees that the time of an attempt is over.
	late = 200 * time.Millisecond
)

var errTimedOut = errors.New("the attempt has timed out")

// triesKey is for the number of an attempt of a regular activity.
type triesKey struct{}

// Call begins a regular activity, whose answer begins a task. It is tried until it has one. Its number is returned.
func (t *Temporal[Message]) Call(perform Attempt, options Options) int {
	t.asked++
	at := t.Task().At
	t.calls = append(t.calls, &call{Options: options, number: t.asked, perform: perform, since: at, retry: at})
	return t.asked
}

// Cancel cancels a call. The task that begins with its end has the answer of the attempt under way, where that was carried out.
func (t *Temporal[Message]) Cancel(number int) {
	for _, c := range t.calls {
		if c.number == number {
			c.cancelled = true
			c.end()
		}
	}
}

// Abandon cancels a call whose end begins no task.
func (t *Temporal[Message]) Abandon(number int) {
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool {
		if c.number != number {
			return false
		}
		if c.end(); c.running != nil {
			t.left = append(t.left, c.running)
		}
		return true
	})
}

// end ends the attempt under way.
func (c *call) end() {
	if c.running != nil {
		c.running.cancelled.Store(true)
		c.running.cancel()
	}
}

// answered returns the number and the answer of a call that has one, the first of them; none where there is none.
func (t *Temporal[Message]) answered() (number int, given *Answer) {
	for i, c := range t.calls {
		if given := t.tried(c); given != nil {
			t.calls = slices.Delete(t.calls, i, i+1)
			return c.number, given
		}
	}
	return 0, nil
}

// tried takes the end of an attempt, and begins the next one when it is time. It returns the call's answer; nil for none yet.
func (t *Temporal[Message]) tried(c *call) *Answer {
	now := time.Now()
	switch {
	case c.running == nil && c.cancelled:
		return &Answer{Err: sdk.NewCanceledError()}
	case c.running == nil && now.Before(c.retry):
		return nil
	case c.running == nil:
		within := t.alive
		if t.tries[c.number]++; t.Counts {
			within = context.WithValue(within, triesKey{}, t.tries[c.number])
		}
		c.running = start(within, t.Agenda, c.perform, c.longest(now), c.Heartbeat)
		return nil
	}
	given := c.running.ended()
	if given != nil {
		// What a process that is lost has ended with is not its answer.
		t.lose()
	}
	if given == nil {
		if over := t.over(c); over.IsZero() || now.Before(over) {
			return nil
		}
		// The attempt goes on, and Temporal wants nothing of it.
		c.running.givenUp.Store(true)
		t.left = append(t.left, c.running)
		given = &Answer{Err: errTimedOut}
	}
	switch c.running = nil; {
	case given.Err == nil || Final(given.Err):
		return given
	case c.cancelled:
		return &Answer{Err: sdk.NewCanceledError()}
	case c.again():
		return nil
	}
	return given
}

// longest is how long an attempt may take that begins now; 0 for any time.
func (c *call) longest(now time.Time) time.Duration {
	if c.Budget == 0 {
		return c.Attempt
	}
	left := max(c.since.Add(c.Budget).Sub(now), time.Millisecond)
	return min(cmp.Or(c.Attempt, left), left)
}

// over is when Temporal gives the attempt under way up; zero for never.
func (t *Temporal[Message]) over(c *call) time.Time {
	missed := t.missed(c.running, c.Heartbeat)
	if c.Attempt == 0 {
		return missed
	}
	if over := c.running.began.Add(c.longest(c.running.began) + late); missed.IsZero() || over.Before(missed) {
		return over
	}
	return missed
}

// look is when there is something to do for the calls; zero for when something ends.
func (t *Temporal[Message]) look() (first time.Time) {
	for _, c := range t.calls {
		at := c.retry
		if c.running != nil {
			at = t.over(c)
		}
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// come waits until something begins a task.
func (t *Temporal[Message]) come(until time.Time) *Task[Message] {
	for {
		if len(t.Inbox) > 0 || !until.IsZero() && !time.Now().Before(until) {
			return t.begun(0, nil)
		}
		if number, given := t.answered(); given != nil {
			return t.begun(number, given)
		}
		next := t.look()
		if next.IsZero() || !until.IsZero() && until.Before(next) {
			next = until
		}
		t.Agenda.rest(next)
		t.lose()
	}
}

// again has the call tried once more after a pause; false where that is beyond its budget.
func (c *call) again() bool {
	c.retry = time.Now().Add(min(c.First<<min(c.failures, 10), cmp.Or(c.Last, lastPause)))
	c.failures++
	return c.Budget == 0 || c.retry.Before(c.since.Add(c.Budget))
}
