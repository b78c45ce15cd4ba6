package histories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/test/histories/play"
)

type task = play.Task[message]

// workflow is a CronJob's: what workflows/cronjob*.go does around the planner, without what tells people of it.
type workflow struct {
	temporal *play.Temporal[message]
	process  *process
	state    schedule.State
	spec     schedule.Spec
	cronJob  protocol.ObjectReference
	lead     time.Duration
	unread   bool
	// mailbox is what has come and is not taken, look, runs and steering what it asks for and is not done yet.
	mailbox  []message
	look     bool
	runs     []schedule.Run
	steering []protocol.Wish
	// children are the UIDs of the runs whose end the Job's workflow tells.
	children map[string]bool
	// heard are the specs before each edit, up to when the workflow has heard of that.
	heard []stretch
	// failures and pause follow calls that failed.
	failures int
	pause    time.Time
}

func newWorkflow(in *world, p *process) *workflow {
	w := &workflow{
		temporal: in.temporal, process: p, cronJob: protocol.ObjectReference{Namespace: namespace, Name: cronJob, UID: cronUID},
		spec: in.input, lead: in.scenario.Lead, unread: true, children: map[string]bool{},
	}
	w.state = schedule.State{Identity: schedule.Identity{Namespace: namespace, Name: cronJob, UID: cronUID, Created: in.begin}}
	return w
}

func (w *workflow) now() time.Time { return w.temporal.Task().At }

// run is the main loop.
func (w *workflow) run() {
	w.took(w.temporal.Next())
	for w.unread {
		w.find()
		if w.unread {
			w.wait(w.pause)
		}
	}
	for range 100_000 {
		if until, rests := w.act(); rests {
			w.wait(until)
		}
	}
	panic(fmt.Sprintf("the workflow does not come to rest at %s", w.now().Format(time.TimeOnly)))
}

// took takes the messages with which a task begins.
func (w *workflow) took(begun *task) { w.mailbox = append(w.mailbox, begun.Messages...) }

func (w *workflow) wait(until time.Time) {
	w.took(w.temporal.Wait(until))
}

// act takes what was received and carries out one plan at most.
func (w *workflow) act() (until time.Time, rests bool) {
	w.hear()
	now := w.now()
	if now.Before(w.pause) {
		return w.pause, true
	}
	w.state = w.evaluated(w.state, now)
	plan := schedule.Decide(w.state, w.spec, now)
	if plan.Pause {
		panic("pauseAfterFailures is not played here")
	}
	if !plan.Idle() {
		w.execute(plan)
		return time.Time{}, false
	}
	w.state = plan.Next
	if due, ok := schedule.Ahead(w.state, w.spec, now); ok {
		if ahead, ok := schedule.DecideAhead(w.evaluated(w.state, due), w.spec, due); ok {
			w.execute(ahead)
			return time.Time{}, false
		}
	}
	if !plan.Wake.IsZero() && !plan.Wake.After(now) {
		panic(fmt.Sprintf("at %s the workflow has nothing to do and wants to be woken at %s", now.Format(time.TimeOnly), plan.Wake.Format(time.TimeOnly)))
	}
	if lost := neverStarts(plan, w.spec); lost != "" {
		panic(fmt.Sprintf("at %s %s", now.Format(time.TimeOnly), lost))
	}
	return plan.Wake, true
}

// neverStarts says which run nothing holds back and nothing wakes the workflow for; empty for none.
func neverStarts(plan schedule.Plan, spec schedule.Spec) string {
	state := plan.Next
	due := state.Calendar.Due
	if due.IsZero() || spec.Suspend || spec.Deleting || spec.Capacity() > 0 && len(state.Active) >= spec.Capacity() {
		return ""
	}
	if pending := state.Pending; pending != nil && !plan.Wake.IsZero() && !plan.Wake.After(pending.Retry.Until) {
		return ""
	}
	return fmt.Sprintf("nothing holds the run of %s back, and the workflow sleeps until %s", due.Format(time.TimeOnly), plan.Wake.Format(time.TimeOnly))
}

func (w *workflow) evaluated(state schedule.State, now time.Time) schedule.State {
	if !schedule.NeedsEvaluation(state, w.spec, now) {
		return state
	}
	evaluation := schedule.Evaluate(w.spec, state, now)
	evaluation.Lead = w.lead
	return schedule.Take(state, w.spec, evaluation)
}

// recorded makes a call that is in the history before it is made.
func recorded[Request, Result any](
	w *workflow, method func(*activities.Activities, context.Context, Request) (Result, error), request Request,
	first time.Duration, givesWay func(now time.Time) bool,
) (result Result, err error) {
	given, gaveWay := w.temporal.Regular(attemptOf(w.process, method, request, false), play.Options{First: first}, func(begun *task) bool {
		w.took(begun)
		return givesWay != nil && givesWay(begun.At)
	})
	if w.took(w.temporal.Task()); gaveWay {
		return result, play.ErrGaveWay
	}
	return decoded[Result](given)
}

// decoded is an answer as the workflow takes it from the history, where it stays as it is.
func decoded[Result any](given play.Answer) (result Result, err error) {
	encoded, err := json.Marshal(given.Result)
	if err == nil {
		err = json.Unmarshal(encoded, &result)
	}
	if err != nil {
		panic(err)
	}
	return result, given.Err
}

// called makes a call as a local activity, and then as a regular one.
func called[Request, Result any](
	w *workflow, method func(*activities.Activities, context.Context, Request) (Result, error), request Request,
) (result Result, err error) {
	for range 2 {
		if given := w.temporal.Local(attemptOf(w.process, method, request, true)); given.Err == nil || play.Final(given.Err) {
			return decoded[Result](given)
		}
	}
	return recorded(w, method, request, time.Second, w.steered)
}

// steered reports whether a signal waits that steers.
func (w *workflow) steered(time.Time) bool {
	return slices.ContainsFunc(w.mailbox, func(one message) bool { return one.kind == "suspend" || one.kind == "resume" })
}

func (w *workflow) failed() {
	w.pause = w.now().Add(min(time.Second<<min(w.failures, 10), time.Minute))
	w.failures++
}

func (w *workflow) works() { w.pause, w.failures = time.Time{}, 0 }

// find takes the state from the object's status and its Jobs.
func (w *workflow) find() {
	result, err := recorded(w, (*activities.Activities).FindRuns, protocol.FindRunsRequest{CronJob: w.cronJob, Digest: w.spec.Digest(), All: true}, time.Second, nil)
	if err != nil {
		w.failed()
		return
	}
	if result.CurrentSpec != nil {
		w.spec = *result.CurrentSpec
	}
	w.works()
	w.unread = false
	var status ostinatov1.CronJobStatus
	if result.Status != nil {
		status = *result.Status
	}
	w.state = schedule.NewState(w.state.Identity, status, result.Ended, w.temporal.History[0].At.UnixMilli())
	result.Ended = slices.DeleteFunc(result.Ended, func(one schedule.Finished) bool { return !one.Gone() })
	result.CurrentSpec = nil
	w.takeFound(result)
}

// hear takes what has come and carries out what it asks for.
func (w *workflow) hear() {
	w.take()
	for (w.look || len(w.runs) > 0 || len(w.steering) > 0) && !w.now().Before(w.pause) {
		if w.look || len(w.runs) > 0 {
			w.lookUp()
		} else {
			w.steer(w.steering[0])
		}
		w.take()
	}
}

func (w *workflow) take() {
	taken := w.mailbox
	w.mailbox = nil
	for _, one := range taken {
		switch one.kind {
		case "ended":
			if w.children[one.ended.Run.UID] {
				w.runEnded(one.ended)
			} else {
				w.runs = append(w.runs, schedule.Run{Name: one.ended.Run.Name, UID: one.ended.Run.UID})
			}
		case "spec":
			if one.spec.Digest() == w.spec.Digest() {
				w.state.Reported = nil
				continue
			}
			w.look = true
			w.works()
		case "suspend", "resume":
			// No two wishes have the same time.
			at := w.now().Add(time.Duration(len(w.steering)))
			w.steering = append(w.steering, protocol.Wish{Suspend: one.kind == "suspend", At: at})
			w.works()
		case "trigger":
			w.state = schedule.AddTrigger(w.state, schedule.TriggerRequest{}, w.now())
		}
	}
}

func (w *workflow) lookUp() {
	runs := w.runs
	result, err := recorded(w, (*activities.Activities).FindRuns, protocol.FindRunsRequest{CronJob: w.cronJob, Digest: w.spec.Digest(), Look: runs}, time.Second, w.steered)
	switch {
	case errors.Is(err, play.ErrGaveWay):
		return
	case err != nil:
		w.failed()
		return
	}
	w.look, w.runs = false, w.runs[len(runs):]
	w.takeFound(result)
}

func (w *workflow) takeFound(result protocol.FindRunsResult) {
	w.learn(result.CurrentSpec)
	for _, ended := range result.Ended {
		w.runEnded(ended)
	}
	for _, child := range result.Children {
		if !w.state.Knows(child.Run) {
			w.children[child.Run.UID] = true
		}
	}
	for _, run := range result.Running {
		w.state = schedule.RecoverJobs(w.state, []schedule.RecoveredJob{{Run: run}})
	}
}

// learn takes the spec that an activity has read.
func (w *workflow) learn(spec *schedule.Spec) {
	if spec != nil && spec.Digest() != w.spec.Digest() {
		w.state = schedule.SpecChanged(w.state, w.spec, *spec, w.now())
		w.heard = append(w.heard, stretch{to: w.now(), spec: w.spec})
		w.state.Reported, w.spec = nil, *spec
	}
}

// steer writes spec.suspend.
func (w *workflow) steer(wanted protocol.Wish) {
	result, err := recorded(w, (*activities.Activities).SetSuspend, protocol.SetSuspendRequest{
		Kind: protocol.CronJobKind, Object: w.cronJob, Wish: wanted,
	}, time.Second, w.steered)
	switch {
	case errors.Is(err, play.ErrGaveWay):
		w.steering = w.steering[1:]
		if w.take(); len(w.steering) == 0 {
			w.steering = []protocol.Wish{wanted}
		} else {
			w.steering[0].Superseded += wanted.Superseded + 1
		}
		return
	case err != nil && !play.Final(err):
		w.failed()
		return
	case err == nil:
		w.learn(result.CronJobSpec)
	}
	w.steering = w.steering[1:]
}

// execute carries out a plan in one call.
func (w *workflow) execute(plan schedule.Plan) {
	if plan.Start == nil {
		result, err := called(w, (*activities.Activities).WriteStatus, protocol.WriteStatusRequest{
			CronJob: w.cronJob, Task: w.now(), Digest: w.spec.Digest(), Judge: plan.Judge, Status: plan.Status, Prune: plan.Deletes, Events: plan.Events,
		})
		if w.answeredFor(result.CurrentSpec, err) {
			w.state = schedule.Apply(plan, schedule.Report{Deleted: result.Pruned, StatusFailed: result.StatusFailed, Judgement: result.Judgement}, w.now())
		}
		return
	}
	result, err := recorded(w, (*activities.Activities).StartRun, protocol.StartRunRequest{
		CronJob: w.cronJob, Digest: w.spec.Digest(), Start: *plan.Start, Replace: plan.Deletes, Status: plan.Status, Events: plan.Events,
	}, 300*time.Millisecond, func(now time.Time) bool { return w.steered(now) && now.Before(plan.Start.Scheduled) })
	if !w.answeredFor(result.CurrentSpec, err) {
		return
	}
	report := schedule.Report{Deleted: result.Replaced, StatusFailed: result.StatusFailed, StatusLeft: result.StatusLeft}
	if result.Started != nil {
		report.Started = &result.Started.Run
	}
	if result.Refused != nil {
		report.Refusal, report.Message = result.Refused.Reason, result.Refused.Message
	}
	w.state = schedule.Apply(plan, report, w.now())
	for _, ended := range result.Ended {
		w.runEnded(ended)
	}
	if result.Started == nil || !result.Started.Managed {
		return
	}
	w.children[result.Started.Run.UID] = true
	if plan.Status == nil {
		// Temporal says at once that the workflow of the Job has begun.
		w.took(w.temporal.Next())
	}
}

// answeredFor reports whether a call was carried out for the CronJob that was planned with.
func (w *workflow) answeredFor(spec *schedule.Spec, err error) bool {
	switch {
	case errors.Is(err, play.ErrGaveWay):
		return false
	case err != nil:
		w.failed()
		return false
	case spec != nil:
		w.learn(spec)
		return false
	}
	w.works()
	return true
}

// runEnded merges the end of a run into the state.
func (w *workflow) runEnded(ended schedule.Finished) {
	if ended.Gone() {
		w.state = schedule.Missing(w.state, ended.Run, w.now())
		return
	}
	if w.state.Knows(ended.Run) {
		w.state = schedule.Finish(w.state, w.spec, ended)
		return
	}
	w.state = schedule.RecoverJobs(w.state, []schedule.RecoveredJob{{Run: ended.Run, Finished: &ended}})
}
