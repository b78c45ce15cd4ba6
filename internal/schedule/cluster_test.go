package schedule_test

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatal(arguments ...any)
	Fatalf(format string, arguments ...any)
}

// cluster carries out what the planner says, as the workflow and the API server
// would, and keeps the result.
type cluster struct {
	t     fataler
	state schedule.State
	spec  schedule.Spec
	now   time.Time
	wake  time.Time
	// status is the object's.
	status ostinatov1.CronJobStatus

	// running and ended are the Jobs that exist.
	running []schedule.Run
	ended   []schedule.Finished
	// forget loses the answer of the next attempt to start a run, which Temporal repeats.
	forget bool
	// writes counts writes of the status.
	writes int
	// refuseStatus fails writes of the status.
	refuseStatus bool
	// refusePause keeps the API server from suspending the CronJob after failures; paused
	// says that it was.
	refusePause, paused bool

	jobs int
	// begun says that the Jobs that there are were looked up, as a workflow does first.
	begun   bool
	starts  []schedule.Start
	deletes []schedule.Delete
	events  []event.Event
	// evaluations and calls count SideEffects and activity calls.
	evaluations int
	calls       int
	// refuse answers creates; nil accepts all.
	refuse func(schedule.Start) string
	// refusal is the reason of what refuse says.
	refusal string
	// judge answers dry runs of the template; nil takes all. judged counts them.
	judge  func(generation int64) schedule.Judgement
	judged int
	// unclear says of creates whose answer is unclear whether the Job is made; nil answers clearly. With silent the Job can't be
	// read either.
	unclear func(schedule.Start) (made bool)
	silent  bool
	// unclearManual says that only creates of manual runs have no clear answer.
	unclearManual bool
	// resent says that an earlier attempt at each create had no answer.
	resent bool
	// outage is how long the next create takes to reach the API server.
	outage time.Duration
	// lead is how long before its time workers prepare a run; held, when set, happens while
	// the next start is held, which finds the CronJob edited then.
	lead time.Duration
	held func()
	// apart is how far the API server's clock is ahead.
	apart time.Duration
	// former are the schedules that edits have replaced.
	former []schedule.FormerSchedule
	// stuck names Jobs whose history delete fails.
	stuck []string
}

const namespace, cronJobName, cronJobUID = "music", "hello", "uid-hello"

func newCluster(t fataler, spec schedule.Spec, created time.Time) *cluster {
	return restored(t, spec, created, ostinatov1.CronJobStatus{}, nil)
}

func restored(
	t fataler, spec schedule.Spec, created time.Time, status ostinatov1.CronJobStatus, finished []schedule.Finished,
) *cluster {
	identity := schedule.Identity{Namespace: namespace, Name: cronJobName, UID: cronJobUID, Created: created}
	return &cluster{
		t: t, spec: spec, now: created, status: status, state: schedule.NewState(identity, status, ledger.Ledger{}, finished),
	}
}

// at moves the clock and plans until there is nothing more to do.
func (c *cluster) at(now time.Time) *cluster {
	c.now = now
	if !c.begun {
		c.begun, c.state = true, schedule.RecoverJobs(c.state, c.recovered())
	}
	for range 1000 {
		if schedule.NeedsEvaluation(c.state, c.spec, c.now) {
			c.state = c.evaluated(c.state, c.now)
		}
		plan := schedule.Decide(c.state, c.spec, c.now)
		if plan.Pause && !c.refusePause {
			c.pause()
			continue
		}
		if plan.Idle() || plan.Pause {
			c.state, c.wake = plan.Next, plan.Wake
			if due, ok := schedule.Ahead(c.state, c.spec, c.now); ok && c.prepare(due) {
				continue
			}
			if !c.wake.IsZero() && !c.wake.After(c.now) {
				c.t.Fatalf("at %s: wake %s is not in the future", c.now, c.wake)
			}
			return c
		}
		c.execute(plan)
	}
	c.t.Fatalf("at %s: the planner does not come to rest: %+v", c.now, schedule.Decide(c.state, c.spec, c.now))
	return c
}

// evaluated returns the state with the scheduled times around now, as a worker computes them.
func (c *cluster) evaluated(state schedule.State, now time.Time) schedule.State {
	c.evaluations++
	evaluation := schedule.Evaluate(c.spec, state, now)
	evaluation.Lead = c.lead
	return schedule.Take(state, c.spec, evaluation)
}

// prepare holds the start of the next run until its time.
func (c *cluster) prepare(due time.Time) bool {
	state := c.state
	if schedule.NeedsEvaluation(state, c.spec, due) {
		state = c.evaluated(state, due)
	}
	plan, ok := schedule.DecideAhead(state, c.spec, due)
	if !ok {
		return false
	}
	c.now = due
	if held := c.held; held != nil {
		c.held = nil
		held()
		return true
	}
	c.execute(plan)
	return true
}

// pause suspends the CronJob as its status asks for.
func (c *cluster) pause() {
	if c.status.ConsecutiveFailures < c.spec.PauseAfterFailures {
		c.t.Fatalf("asks to pause after %d failures, and the status has %d", c.spec.PauseAfterFailures, c.status.ConsecutiveFailures)
	}
	spec := c.spec
	spec.Suspend = true
	spec.Generation++
	c.state = schedule.SpecChanged(schedule.Paused(c.state), c.spec, spec, c.now)
	c.spec, c.paused = spec, true
}

// recovered are the Jobs that exist, as a look-up finds them.
func (c *cluster) recovered() []schedule.RecoveredJob {
	var all []schedule.RecoveredJob
	for _, run := range c.running {
		all = append(all, schedule.RecoveredJob{Run: run})
	}
	for _, ended := range c.ended {
		all = append(all, schedule.RecoveredJob{Run: ended.Run, Finished: &ended})
	}
	return all
}

// find returns the Job of a name that exists.
func (c *cluster) find(name string) *schedule.Run {
	for _, recovered := range c.recovered() {
		if recovered.Run.Name == name {
			return &recovered.Run
		}
	}
	return nil
}

func (c *cluster) remove(name, uid string) {
	c.running = slices.DeleteFunc(c.running, func(run schedule.Run) bool { return run.Name == name && run.UID == uid })
	c.ended = slices.DeleteFunc(c.ended, func(f schedule.Finished) bool { return f.Run.Name == name && f.Run.UID == uid })
}

func (c *cluster) execute(plan schedule.Plan) {
	c.calls++
	if c.forget && plan.Start != nil {
		c.forget = false
		c.carryOut(plan)
		c.now = c.now.Add(3 * time.Second)
	}
	report := c.carryOut(plan)
	c.state = schedule.Apply(plan, report, c.now)
}

// finish ends the oldest active run.
func (c *cluster) finish(condition batchv1.JobConditionType, now time.Time) *cluster {
	c.t.Helper()
	if len(c.state.Active) == 0 {
		c.t.Fatal("no active run to finish")
	}
	run := c.state.Active[0]
	finished := schedule.Finished{Run: run, Condition: condition, StartTime: run.Started, CompletionTime: now}
	c.remove(run.Name, run.UID)
	c.ended = append(c.ended, finished)
	c.state = schedule.Finish(c.state, c.spec, finished)
	return c.at(now)
}

// edit changes the spec as a spec signal does.
func (c *cluster) edit(now time.Time, options ...specOption) *cluster {
	c.change(now, options...)
	return c.at(now)
}

func (c *cluster) change(now time.Time, options ...specOption) {
	spec := c.spec
	spec.Generation++
	for _, option := range options {
		option(&spec)
	}
	c.state = schedule.SpecChanged(c.state, c.spec, spec, now)
	if spec.Schedule != c.spec.Schedule {
		c.former = append(c.former, schedule.FormerSchedule{Schedule: c.spec.Schedule, Until: now})
	}
	c.spec = spec
}

func (c *cluster) trigger(now time.Time) *cluster { return c.triggerWith("", now) }

func (c *cluster) triggerWith(overlap batchv1.ConcurrencyPolicy, now time.Time) *cluster {
	c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{Note: "by hand", Overlap: overlap}, now)
	return c.at(now)
}
