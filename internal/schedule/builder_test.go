package schedule_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// createdAt is the state of a CronJob that has not run yet.
func createdAt(created time.Time) schedule.State {
	return schedule.State{Identity: schedule.Identity{Created: created}}
}

// settledUntil returns the state with every time up to one settled.
func settledUntil(state schedule.State, settled time.Time) schedule.State {
	state.Settled = settled
	return state
}

// at reads a time of the test tables: RFC 3339, or a time of Thursday 2016-05-19,
// the day upstream's tables use.
func at(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			if layout != time.RFC3339Nano {
				t = t.AddDate(2016, 4, 18)
			}
			return t.UTC()
		}
	}
	panic("bad time in test: " + text)
}

type specOption func(*schedule.Spec)

// cronSpec builds a Spec with the API's defaults, in UTC.
func cronSpec(expression string, options ...specOption) schedule.Spec {
	spec := schedule.Spec{
		Generation:                 1,
		Schedule:                   expression,
		TimeZone:                   ptr.To("UTC"),
		ConcurrencyPolicy:          batchv1.AllowConcurrent,
		SuccessfulJobsHistoryLimit: 3,
		FailedJobsHistoryLimit:     1,
	}
	for _, option := range options {
		option(&spec)
	}
	return spec
}

func zone(name string) specOption { return func(s *schedule.Spec) { s.TimeZone = &name } }
func deadline(seconds int64) specOption {
	return func(s *schedule.Spec) { s.StartingDeadlineSeconds = &seconds }
}
func policy(p batchv1.ConcurrencyPolicy) specOption {
	return func(s *schedule.Spec) { s.ConcurrencyPolicy = p }
}
func suspended(s *schedule.Spec) { s.Suspend = true }
func deleting(s *schedule.Spec)  { s.Deleting = true }
func limits(successful, failed int32) specOption {
	return func(s *schedule.Spec) { s.SuccessfulJobsHistoryLimit, s.FailedJobsHistoryLimit = successful, failed }
}

var (
	allow   = policy(batchv1.AllowConcurrent)
	forbid  = policy(batchv1.ForbidConcurrent)
	replace = policy(batchv1.ReplaceConcurrent)
	queue   = policy(ostinatov1.QueueConcurrent)
)

func atMost(runs int32) specOption       { return func(s *schedule.Spec) { s.MaxConcurrent = runs } }
func queueLimit(runs int32) specOption   { return func(s *schedule.Spec) { s.QueueLimit = runs } }
func catchUpLimit(runs int32) specOption { return func(s *schedule.Spec) { s.CatchUpLimit = runs } }
func catchUpWindow(seconds int64) specOption {
	return func(s *schedule.Spec) { s.CatchUpWindowSeconds = &seconds }
}
func catchUp(p ostinatov1.CatchUpPolicy) specOption { return func(s *schedule.Spec) { s.CatchUp = p } }

var (
	catchUpNone = catchUp(ostinatov1.CatchUpNone)
	catchUpAll  = catchUp(ostinatov1.CatchUpAll)
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

// carryOut is one attempt of the activity.
func (c *cluster) carryOut(plan schedule.Plan) schedule.Report {
	report := schedule.Report{Sent: c.resent}
	if start := plan.Start; start != nil && start.Scheduled.After(c.now) {
		c.t.Fatalf("at %s: %s starts before its time", c.now, start.Name)
	}
	for _, wanted := range plan.Deletes {
		if !slices.Contains(c.stuck, wanted.Name) {
			c.deletes = append(c.deletes, wanted)
			c.remove(wanted.Name, wanted.UID)
			report.Deleted = append(report.Deleted, wanted.Name)
		}
	}
	c.events = append(c.events, plan.Events...)
	if start := plan.Start; start != nil && (plan.Find || c.unclear != nil) {
		return c.carryOutUnclear(plan, report)
	}
	if start := plan.Start; start != nil {
		c.now, c.outage = c.now.Add(c.outage), 0
		switch {
		case start.IsTooLate(c.spec, c.now):
			report.Refusal, report.Message = ledger.TooLate, "too late"
		case c.refuse != nil:
			report.Message = c.refuse(*start)
		}
	}
	if plan.Start != nil && (report.Message == "" || c.find(plan.Start.Name) != nil) {
		report.Refusal, report.Message = "", ""
		report.Started = c.start(*plan.Start)
	}
	if plan.Judge && report.Message == "" {
		report.Judgement = c.judgement()
	}
	if report.Message != "" && report.Refusal == "" {
		report.Refusal = cmp.Or(c.refusal, "Forbidden")
	} else if c.refuseStatus && plan.Status != nil {
		report.StatusFailed = "the webhook does not answer"
	} else if report.Refusal == "" && plan.Status != nil {
		c.writes++
		c.status = *plan.Status
		if report.Judgement != nil {
			c.status = schedule.StatusJudged(c.status, *report.Judgement)
		}
		if report.Started != nil {
			run := *report.Started
			run.Scheduled, run.Manual = plan.Start.Scheduled, plan.Start.Manual
			c.status = schedule.StatusStarted(c.status, run, namespace)
			c.status = schedule.StatusRecorded(c.status, *plan.Start, run)
		}
		for _, condition := range c.status.Conditions {
			if known := schedule.ConditionReasonsOf[condition.Type]; slices.Contains(schedule.ConditionTypes, condition.Type) && !slices.Contains(known, condition.Reason) {
				c.t.Fatalf("the condition %s has the reason %s, want one of %v", condition.Type, condition.Reason, known)
			}
		}
	}
	return report
}

// carryOutUnclear is one attempt to look for a Job, or to create it without a clear answer.
func (c *cluster) carryOutUnclear(plan schedule.Plan, report schedule.Report) schedule.Report {
	found := c.find(plan.Start.Name)
	switch {
	case c.silent:
		report.Unclear, report.Message = true, "etcdserver: no leader"
		if report.Unsent = plan.Find; !plan.Find && !plan.Start.IsTooLate(c.spec, c.now) && c.unclear(*plan.Start) {
			c.start(*plan.Start)
		}
	case found != nil:
		report.Started, report.StatusLeft = found, true
	case plan.Find:
		report.Missing = true
	case plan.Start.IsTooLate(c.spec, c.now):
		report.Refusal, report.Message = ledger.TooLate, "too late"
	default:
		report.Unclear, report.Message = true, "etcdserver: request timed out"
		if c.unclear(*plan.Start) {
			c.start(*plan.Start)
		}
	}
	return report
}

func (c *cluster) judgement() *schedule.Judgement {
	c.judged++
	judgement := schedule.Judgement{}
	if c.judge != nil {
		judgement = c.judge(c.spec.Generation)
	}
	judgement.Generation, judgement.At = c.spec.Generation, c.now.Add(300*time.Millisecond)
	return &judgement
}

// start makes the Job or finds it. It fails when the concurrency policy forbids the run.
func (c *cluster) start(start schedule.Start) *schedule.Run {
	if found := c.find(start.Name); found != nil {
		return found
	}
	if under := start.Under(c.spec); under.Capacity() > 0 && len(c.running) >= under.Capacity() {
		c.t.Fatalf("at %s: %s starts under %s beside %v", c.now, start.Name, under.ConcurrencyPolicy, c.running)
	}
	c.jobs++
	c.starts = append(c.starts, start)
	run := schedule.Run{
		Name: start.Name, UID: fmt.Sprintf("job-%d", c.jobs), Started: c.now.Add(c.apart), ResourceVersion: fmt.Sprint(c.jobs),
		Scheduled: start.Scheduled, Manual: start.Manual,
	}
	c.running = append(c.running, run)
	return &run
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

// started lists the scheduled times of the scheduled runs.
func (c *cluster) started() []string {
	var times []string
	for _, start := range c.starts {
		if !start.Manual {
			times = append(times, start.Scheduled.Format(time.RFC3339))
		}
	}
	return times
}

// reasons lists the Events' reasons.
func (c *cluster) reasons() []string {
	var reasons []string
	for _, e := range c.events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// ledger renders the ledger, one line an entry.
func (c *cluster) ledger() []string {
	var lines []string
	for _, entry := range c.state.Rows() {
		line := entry.Scheduled.Format("02T15:04:05")
		if entry.Times() > 1 {
			line += fmt.Sprintf("..%s x%d", entry.Until.Format("02T15:04:05"), entry.Times())
		}
		line += " " + string(entry.Outcome)
		if entry.Reason != "" {
			line += " " + entry.Reason
		}
		if entry.Manual {
			line += " manual"
		}
		lines = append(lines, line)
	}
	return lines
}

func wantStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func wantTime(t *testing.T, what string, got time.Time, want string) {
	t.Helper()
	var expected time.Time
	if want != "" {
		expected = at(want)
	}
	if !got.Equal(expected) {
		t.Errorf("%s: got %s, want %s", what, got, expected)
	}
}
