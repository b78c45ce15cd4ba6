package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
)

// Decide says what is to be done for a Job at an instant. It is a pure function:
// deciding again after the Plan was carried out (Apply) wants nothing more.
// The order of decisions is that of upstream's syncJob (parity 2.7).
func Decide(config Config, state State, spec Spec, now time.Time) Plan {
	p := &pass{
		config: spec.configure(config),
		spec:   spec,
		now:    now,
		second: now.Truncate(time.Second).UTC(),
		before: state,
		state:  state,
	}
	p.state.Pods = slices.Clone(state.Pods)
	p.state.Conditions = slices.Clone(state.Conditions)
	p.state.IndexFailures = slices.Clone(state.IndexFailures)
	p.breakSilence()
	p.clockPending()
	p.wakeForStrangers()
	switch {
	case p.now.Before(p.state.ErrorRetry.Until):
		p.pause()
	case p.state.Rebuild:
		p.plan.List, p.plan.Rebuild = true, true
	case p.state.terminal() != nil:
		p.cleanUp()
	case p.state.Doubtful, p.strangersDue(), p.listDue(), p.pendingListDue():
		p.plan.List = true
	case p.unsupported():
		p.skip()
	default:
		p.sync()
	}
	// How a Job has ended is said last.
	p.plan.Events = p.plan.Events[max(len(p.plan.Events)-event.MaxPerRequest, 0):]
	p.plan.Next, p.plan.before, p.plan.config = p.state.prune(), state, p.config
	return p.plan
}

// pass is the working memory of one Decide.
type pass struct {
	config Config
	spec   Spec
	now    time.Time
	// second is now as the API stores times: in whole seconds.
	second time.Time
	before State
	state  State
	plan   Plan
	// managed says that Pods could be created and removed in this pass.
	managed bool
	// failJob is the message of the FailJob rule that a Pod matches; empty for none.
	failJob string
	// doubtful says that a list is needed to know what exists.
	doubtful bool
	// capped says that more Pods are to be released than one pass does.
	capped bool
}

func (p *pass) sync() {
	if p.state.StartTime.IsZero() && !p.spec.Suspend {
		p.state.StartTime = p.second
	}
	p.announceMistakes()
	p.refreshEvidence()
	p.failPending()
	p.retryDeletes()
	p.countFinished()
	decided := p.decide()
	if decided == nil {
		p.manage()
		decided = p.completionsReached()
	} else {
		p.state.Verdict = *decided
	}
	switch {
	case p.doubtful, decided != nil && (p.state.uncertain() || p.mayHaveForgotten(*decided)):
		p.state, p.plan = p.before, Plan{List: true}
		return
	case decided != nil:
		p.conclude(*decided)
	case p.managed:
		p.recordSuspension()
	}
	p.state.Fresh = p.state.Fresh && len(p.plan.Deletes) > 0
	p.release()
	p.expectEnds()
	p.finish()
	p.wakeForDeadline()
	p.wakeForList()
	p.writeStatus()
	p.plan.Waiting = p.waiting()
}

// completionsReached decides that the Job has succeeded: a work-queue Job when one
// Pod succeeded and none is left, another when enough Pods succeeded and none is
// left (parity 2.7 step 9).
func (p *pass) completionsReached() *Verdict {
	reached := p.state.Succeeded > 0
	if p.spec.Completions != nil {
		reached = p.state.Succeeded >= *p.spec.Completions
	}
	if !reached || p.active() > 0 {
		return nil
	}
	return &Verdict{batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached,
		"Reached expected number of succeeded pods"}
}

// mayHaveForgotten reports whether Pods may run of which the State does not know, since a
// plan that created them was forgotten: a workflow task that is repeated may come to
// another plan, when a signal or the clock has come between. A verdict would leave them
// running, so that the Pods are listed before the first one. A Job of fixed completions
// whose Pods have all succeeded wants the same Pods whenever it is asked.
func (p *pass) mayHaveForgotten(decided Verdict) bool {
	if p.interim() != nil || p.fresh(decided) || p.before.Verdict != (Verdict{}) || p.now.Before(p.state.StatusRetry.Until) {
		return false
	}
	return decided.failure() || p.state.Failed > 0 || p.state.Revised || p.spec.Completions == nil ||
		decided.Reason == batchv1.JobReasonSuccessPolicy
}

// fresh reports whether the Pods have just been listed. Without the verdict Pods would have
// been created after the list, and a plan that is forgotten may have done so before the
// deadline: then the list was asked for before it, too.
func (p *pass) fresh(decided Verdict) bool {
	if deadline, ok := p.deadline(); ok && decided.Reason == batchv1.JobReasonDeadlineExceeded && p.state.Listing.Before(deadline) {
		return false
	}
	return p.state.Fresh
}

// uncertain reports whether there may be Pods that nothing is known of, since a
// create was refused that may have happened before; a list tells. The Job does not
// end without having looked.
func (s State) uncertain() bool {
	return s.tally(func(pod Pod) bool { return !pod.exists() }) > 0
}

// unsupported reports whether the completion mode is one that is not known.
func (p *pass) unsupported() bool {
	return p.spec.CompletionMode != "" && p.spec.CompletionMode != batchv1.NonIndexedCompletion && !p.indexed()
}

// skip announces once that nothing is done for the Job; an edit can't change the
// completion mode, so all that is left is to wait for its deletion.
func (p *pass) skip() {
	const message = "Skipped Job sync because completion mode is unknown"
	if p.state.Skipped != p.spec.CompletionMode {
		p.state.Skipped = p.spec.CompletionMode
		p.emit(event.Warning("UnknownCompletionMode", message))
	}
	p.wakeForList()
	p.plan.Waiting = message
}

func (p *pass) emit(e event.Event) { p.plan.Events = append(p.plan.Events, e) }

// announceMistakes emits a Warning for every annotation that can't be read, once.
func (p *pass) announceMistakes() {
	for _, mistake := range p.spec.Mistakes {
		if !slices.Contains(p.state.Announced, mistake) {
			p.state.Announced = append(slices.Clip(p.state.Announced), mistake)
			p.emit(event.Warning("InvalidAnnotation", mistake))
		}
	}
}
