package play

import (
	"cmp"
	"time"
)

// Options bound a regular activity: the pause after its first failure, which doubles up to the last, 0 for ten seconds, how long an
// attempt may take, and how long the call may be tried, 0 for any time.
type Options struct{ First, Last, Attempt, Budget time.Duration }

// call is a regular activity under way.
type call struct {
	Options
	perform Attempt
	// running is the attempt under way; nil where the next one is waited for.
	running *Running
	// since is when it was asked for, failures and retry are how often it has failed, and when it is tried again.
	since    time.Time
	failures int
	retry    time.Time
}

// lastPause bounds the pause between two attempts where nothing else does.
const lastPause = 10 * time.Second

// Call begins a regular activity, whose answer begins a task. It is tried until it has one.
func (t *Temporal[Message]) Call(perform Attempt, options Options) {
	if t.call != nil {
		panic("a workflow that has two regular activities at a time is not played here")
	}
	at := t.Task().At
	t.call = &call{Options: options, perform: perform, since: at, retry: at}
}

// come waits until something begins a task.
func (t *Temporal[Message]) come(until time.Time) *Task[Message] {
	over := func() bool { return len(t.Inbox) > 0 || !until.IsZero() && !time.Now().Before(until) }
	if !until.IsZero() && t.call != nil {
		t.Agenda.Plan(until, func() {})
	}
	for {
		c := t.call
		switch {
		case over():
			return t.begun(nil)
		case c == nil:
			t.Agenda.Until(until, over)
			return t.begun(nil)
		case c.running == nil && time.Now().Before(c.retry):
			t.Agenda.Until(c.retry, over)
			continue
		case c.running == nil:
			c.running = start(t.alive, c.perform, c.Attempt)
		}
		given := t.Agenda.Answer(c.running, over)
		t.lose()
		if given == nil {
			return t.begun(nil)
		}
		if c.running = nil; given.Err == nil || Final(given.Err) || !c.again() {
			t.call = nil
			return t.begun(given)
		}
	}
}

// again has the call tried once more after a pause; false where that is beyond its budget.
func (c *call) again() bool {
	c.retry = time.Now().Add(min(c.First<<min(c.failures, 10), cmp.Or(c.Last, lastPause)))
	c.failures++
	return c.Budget == 0 || c.retry.Before(c.since.Add(c.Budget))
}

// GiveUp gives the regular activity under way up, and waits for the end of the attempt. The task that begins with it has the
// answer; it is err where there is none.
func (t *Temporal[Message]) GiveUp(err error) *Task[Message] {
	return t.next(func() *Task[Message] {
		given := &Answer{Err: err}
		if t.call != nil && t.call.running != nil {
			t.call.running.cancel()
			given = t.Agenda.Answer(t.call.running, nil)
			t.lose()
			if given.Err != nil {
				given.Err = err
			}
		}
		t.call = nil
		return t.begun(given)
	})
}

// Regular runs a regular activity to its end. givesWay is asked whenever something comes; true gives it up, unless it has been
// carried out.
func (t *Temporal[Message]) Regular(perform Attempt, options Options, givesWay func(*Task[Message]) bool) (given Answer, gaveWay bool) {
	t.Call(perform, options)
	for {
		task := t.Wait(time.Time{})
		if task.Answer != nil {
			return *task.Answer, false
		}
		if !givesWay(task) {
			continue
		}
		if task = t.GiveUp(ErrGaveWay); task.Answer.Err == nil {
			return *task.Answer, false
		}
		return Answer{}, true
	}
}
