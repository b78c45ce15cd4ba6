package job_test

import (
	"time"

	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

// accident is how a plan that is partly carried out gets lost.
type accident int

const (
	// diedAccident: the worker, or its workflow task failed. All is forgotten since the last
	// event of the history, several plans maybe, and what was read of the Job.
	diedAccident accident = iota
	// failed: the activity ended with an error; what it has done is not known.
	failed
	// gaveWay: the activity was given up for a signal.
	gaveWay
)

// crash is an accident to come.
type crash struct {
	// in is how many effects from now it happens, 0 for never.
	in       int
	accident accident
	// takenBack says that an edit which was forgotten with the plan is taken back
	// before the Job is read anew.
	takenBack bool
	// after is how long it takes until the workflow task is repeated.
	after time.Duration
	// list is the answer that the task begins with, which it takes in anew, and asked when
	// it was asked for.
	list  *job.List
	asked time.Time
	// state, spec and ledger are what is remembered after it.
	state  job.State
	spec   job.Spec
	ledger *ledger
	// logged are the Pods whose log was read since.
	logged []*modelPod
}

// drawCrash arms an accident.
func (c *cluster) drawCrash(t *rapid.T) {
	c.crash = crash{
		in:        rapid.IntRange(1, 9).Draw(t, "effects"),
		accident:  rapid.SampledFrom([]accident{diedAccident, diedAccident, failed, gaveWay}).Draw(t, "accident"),
		takenBack: rapid.Bool().Draw(t, "taken back"),
		after:     time.Duration(rapid.SampledFrom([]int{0, 0, 10, 3000}).Draw(t, "repeated after")) * time.Second,
	}
	c.record()
}

// record notes what a history holds from now on: facts that came, lists, and that time
// passed. Local activities are in it only when their workflow task has ended.
func (c *cluster) record() {
	if c.crash.in == 0 {
		return
	}
	c.crash.state, c.crash.spec, c.crash.logged = c.state, c.spec, nil
	c.crash.list = nil
	if c.ledger != nil {
		c.crash.ledger = c.ledger.copied(c)
	}
}

// dies reports whether the accident happens before the next effect.
func (c *cluster) dies() bool {
	if c.crash.in == 0 {
		return false
	}
	c.crash.in--
	return c.crash.in == 0
}

// tryAgain is what becomes of an activity that was recorded when its worker dies: it is tried
// again, and of the attempt nothing is remembered.
func (c *cluster) tryAgain() {
	for _, pod := range c.crash.logged {
		pod.logged = false
	}
	c.pass(c.crash.after)
	c.unknown, c.forgotten = true, len(c.creates)
	if c.ledger != nil {
		c.ledger.crashed = true
	}
	c.crash = crash{}
}

// forget goes back to what is remembered.
func (c *cluster) forget(plan job.Plan) {
	for _, pod := range c.crash.logged {
		pod.logged = false // A rebuild does not ask again for the log of a released Pod.
	}
	c.crashed, c.unknown, c.misled, c.forgotten = true, true, false, len(c.creates)
	if c.ledger != nil {
		handled := c.ledger.inexact
		c.ledger = c.crash.ledger
		c.ledger.inexact, c.ledger.crashed = handled || c.ledger.inexact, true
		if plan.Recorded() {
			c.ledger.ask(plan)
		}
	}
	switch c.crash.accident {
	case failed:
		c.state = c.roundTrip(job.Apply(plan, job.Report{Error: "no connection"}, c.now))
	case gaveWay:
		c.state = c.roundTrip(c.crash.state)
		if plan.Recorded() {
			c.state = c.roundTrip(plan.Asked())
		}
	case diedAccident:
		c.pass(c.crash.after)
		state, spec := c.roundTrip(c.crash.state), c.spec
		if c.crash.list != nil {
			state = state.Listed(*c.crash.list, c.crash.asked)
			c.justListed = c.spec.Digest() == c.crash.spec.Digest()
		}
		if c.crash.takenBack && !spec.Deleting {
			spec = c.crash.spec
			if spec.Generation != c.spec.Generation {
				spec.Generation = c.spec.Generation + 1
			}
		}
		c.state, c.spec = state.Edited(c.crash.spec, spec)
		c.disturbBeyondCompletions()
	}
	c.crash = crash{}
}
