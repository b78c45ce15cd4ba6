package job

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
)

// Decide says what is to be done for a Job at an instant, in the order of upstream's syncJob (parity 2.7).
// Deciding again after the Plan was carried out (Apply) wants nothing more.
func Decide(state State, spec Spec, now time.Time) Plan { return decide(state, spec, now, false) }

// DecideListed is Decide right after a list of the Pods was taken in: surplus Pods are chosen by
// their readiness, which PodWatch does not report.
func DecideListed(state State, spec Spec, now time.Time) Plan { return decide(state, spec, now, true) }

func decide(state State, spec Spec, now time.Time, listed bool) Plan {
	p := &pass{
		listed: listed,
		spec:   spec,
		now:    now,
		second: now.Truncate(time.Second).UTC(),
		before: state,
		state:  state,
	}
	p.state.Pods = slices.Clone(state.Pods)
	p.state.Conditions = slices.Clone(state.Conditions)
	p.state.Indexes = slices.Clone(state.Indexes)
	if slices.ContainsFunc(p.state.Pods, Pod.leavesItsName) {
		p.state.Late = later(p.state.Late, p.state.Taken)
	}
	p.clockPending()
	switch {
	case p.waits(p.state.ErrorRetry.Until, WakeErrorRetry):
		retry := p.state.ErrorRetry
		p.plan.Waiting = fmt.Sprintf("an error (%s); next attempt at %s", retry.Message, retry.Until.UTC().Format(time.RFC3339))
	case p.state.Rebuild:
		p.plan.List, p.plan.Rebuild = true, true
	case p.state.terminal() != nil:
		p.cleanUp()
	case p.needsList() && !p.suspends():
		p.plan.List = true
	case p.unsupported():
		p.skip()
	default:
		p.sync()
	}
	// How a Job has ended is said last.
	p.plan.Events = p.plan.Events[max(len(p.plan.Events)-event.MaxPerRequest, 0):]
	p.prune()
	if p.fates == perPlan && p.plan.Idle() {
		// Nothing else would bring about the plan that counts the rest.
		p.wake(now, WakeRest)
	}
	_, backoffCap := spec.backoff()
	p.plan.Next, p.plan.before, p.plan.podRetryCap = p.state, state, max(retryCap, backoffCap)
	return p.plan
}

// pass is the working memory of one Decide.
type pass struct {
	spec Spec
	now  time.Time
	// second is now as the API stores times: in whole seconds.
	second time.Time
	before State
	state  State
	plan   Plan
	// listed says that the Pods have just been listed.
	listed bool
	// failJob is the message of the FailJob rule that a Pod matches; empty for none.
	failJob string
	// capped says that more Pods are to be counted or released than one pass does. fates are those that it has counted.
	capped bool
	fates  int
}

func (p *pass) sync() {
	if p.state.StartTime.IsZero() && !p.spec.Suspend {
		p.state.StartTime = p.second
	}
	for _, mistake := range p.spec.Mistakes {
		p.announce(event.Warning("InvalidAnnotation", mistake))
	}
	p.refreshEvidence()
	p.deleteAgain()
	p.failPending()
	p.countFinished()
	decided := p.decide()
	if decided == nil {
		p.manage()
		decided = p.completionsReached()
	}
	switch {
	case p.plan.List, decided != nil && p.looksFor(*decided):
		p.state, p.plan = p.before, Plan{List: true}
		return
	case p.plan.Terminate != "":
		p.terminate(p.plan.Terminate, Verdict{})
		return
	case decided != nil && decided.Reason != batchv1.JobReasonCompletionsReached && p.state.interim() == nil && !p.state.Concluded:
		// The Pods are ended before the verdict is written. It is judged before that by what it rests on.
		status, counted, deletes := p.status(), p.counted(), p.plan.Deletes
		p.terminate(TerminateForVerdict, *decided)
		p.plan.Status, p.plan.Counted, p.plan.Deletes = status, counted, deletes
		return
	case decided != nil:
		p.conclude(*decided)
	case !p.spec.Deleting:
		p.recordSuspension()
	}
	p.release()
	p.finish()
	p.wakeForDeadline()
	p.writeStatus()
	p.plan.Waiting = p.waiting()
}

// completionsReached decides that no Pod is left and enough succeeded, in a work-queue Job one (parity 2.7 step 9).
func (p *pass) completionsReached() *Verdict {
	reached := p.state.Succeeded > 0
	if p.spec.Completions != nil {
		reached = p.state.Succeeded >= *p.spec.Completions
	}
	if !reached || p.active() > 0 || p.capped {
		return nil
	}
	return &Verdict{batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods"}
}

// unsupported reports whether the completion mode is one that is not known.
func (p *pass) unsupported() bool {
	return p.spec.CompletionMode != "" && p.spec.CompletionMode != batchv1.NonIndexedCompletion && !p.spec.indexed()
}

// skip announces once that nothing is done for the Job: its completion mode is immutable, so it waits for its deletion.
func (p *pass) skip() {
	const message = "Skipped Job sync because completion mode is unknown"
	p.announce(event.Warning("UnknownCompletionMode", message))
	p.plan.Waiting = message
}

func (p *pass) emit(e event.Event) { p.plan.Events = append(p.plan.Events, e) }

// announce emits an Event whose message was not emitted before.
func (p *pass) announce(e event.Event) {
	if !slices.Contains(p.state.Announced, e.Message) {
		p.state.Announced = append(slices.Clip(p.state.Announced), e.Message)
		p.state.Announced = p.state.Announced[max(len(p.state.Announced)-maxAnnounced, 0):]
		p.emit(e)
	}
}
