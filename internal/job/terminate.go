package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Termination asks to end all running Pods of a Job, including those of lost workflow tasks, unknown to the State.
type Termination string

const (
	// TerminateForSuspension removes the Pods: their finalizer goes first, and they are not counted (parity 2.12).
	TerminateForSuspension Termination = "Suspension"
	// TerminateForVerdict deletes the Pods; they keep their finalizer until they are counted (parity 2.11).
	TerminateForVerdict Termination = "Verdict"
)

// Targets returns the Pods that are to be ended: those that can run and are not being deleted. A suspension removes
// also those that were deleted meanwhile, as upstream removes what its cache has as active: those of undecided, whose
// end the caller did not know, without deleting, which were being deleted when it heard of the suspension (nil:
// unknown).
func (t Termination) Targets(pods []PodFact, undecided []PodName, deleting []string) []Delete {
	suspends := t == TerminateForSuspension
	overtaken := sets.New[string]()
	if suspends && deleting != nil {
		for _, pod := range undecided {
			overtaken.Insert(pod.UID)
		}
		overtaken.Delete(deleting...)
	}
	var targets []Delete
	for _, pod := range pods {
		if !pod.Ended() && !pod.Disowned && (!pod.Deleting || pod.Tracked && overtaken.Has(pod.UID)) {
			target := Delete{Name: pod.Name, UID: pod.UID, Release: suspends}
			if suspends && pod.Tracked && !pod.Deleting {
				target.Version = pod.Version
			}
			targets = append(targets, target)
		}
	}
	return targets
}

// Recorded reports whether the Plan must be in the history before it is carried out: another plan would not take it
// back, it asks for logs, and nodes may not answer while a workflow task waits, or it knows what no list shows once it is carried out: how
// Pods ended. The rest follows from the Job and the history: a repeated workflow task wants the same again, by the same names.
func (p Plan) Recorded() bool {
	remembers := len(p.Next.Evidence)+p.Next.EvidenceOmitted > len(p.before.Evidence)+p.before.EvidenceOmitted
	return p.decides() || remembers || slices.ContainsFunc(p.Releases, func(release Release) bool { return release.Logs })
}

// decides reports whether another plan would not take back what the Plan does.
func (p Plan) decides() bool {
	failed := p.Next.Failed > 0 || p.Next.Backoff.Failures > 0 ||
		slices.ContainsFunc(p.Next.Indexes, func(record IndexRecord) bool { return record.Failures+record.Ignored > 0 })
	return p.Terminate != "" || len(p.Deletes) > 0 || len(p.Creates) > 0 && failed
}

// Bulk reports whether the Plan is work on many Pods.
func (p Plan) Bulk() bool { return Bulk(len(p.Creates)+len(p.Deletes), len(p.Releases)) }

// Asked returns the State while the Plan is under way. If no answer comes, a list tells what became of a recorded Plan.
func (p Plan) Asked() State {
	state := p.before
	if p.Terminate != "" {
		state = p.Next
		state.Judged = p.before.Judged
	}
	state.Unanswered = state.Unanswered || p.Status != nil && p.Terminate == ""
	if !p.decides() {
		return state
	}
	state.NeedsList = true
	state.Pods = slices.Clone(state.Pods)
	asked := map[string]bool{}
	for _, target := range p.Deletes {
		asked[target.UID] = target.Release || state.decided() != nil
	}
	for i := range state.Pods {
		pod := &state.Pods[i]
		pod.Asked = pod.Asked || asked[pod.UID] || p.Terminate != "" && pod.active()
	}
	return state
}

// Terminated takes in the answer to a Plan that terminates: the Pods as they are then.
func (p Plan) Terminated(list List, asked, now time.Time) State {
	state := p.Asked()
	state.Judged, state.Unanswered = p.Next.Judged, p.before.Unanswered
	for place, pod := range state.Undecided() {
		if list.Removed.Contains(int32(place)) {
			list.Facts = append(list.Facts, PodFact{UID: pod.UID, Deleting: true, Removed: true})
		}
	}
	state = state.Listed(list, asked)
	known := byUID(state.Pods)
	for _, failure := range list.Failures {
		if pod := known[failure.UID]; pod != nil {
			pod.Retry = pod.Retry.refused(p.podRetryCap, failure.Message, now)
		}
	}
	state.Concluded = state.Verdict != (Verdict{})
	return state
}

// resolve decides from a list about a Pod whose delete was under way. One that had ended before is counted, an unchanged
// one is the Job's, one without its finalizer is yet to be deleted, and one that was deleted for a failure has failed.
func (s State) resolve(pod *Pod, listed bool) {
	verdict := s.decided()
	succeeds := verdict != nil && !verdict.failure() && (!listed || pod.Deleting)
	if removed := verdict == nil && (!listed || !pod.Tracked); pod.Fate == Undecided && (removed || succeeds) {
		pod.Fate = PodUncounted
	}
	fails := verdict != nil && verdict.failure() && listed && pod.Deleting && pod.Fate == Undecided
	pod.Asked = fails || pod.Fate == PodUncounted && pod.active()
}

// deleteAgain deletes the Pods whose fate is decided and that run on: their delete has failed.
func (p *pass) deleteAgain() {
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if pod.active() && pod.Fate != Undecided && (pod.Asked || pod.PendingFailed) && p.mayDelete(*pod) {
			p.delete(pod, pod.Fate == PodUncounted)
			pod.Asked = false
		}
	}
}

// suspends reports whether the Job's suspension is to be carried out, which lists the Pods too.
func (p *pass) suspends() bool {
	asked := func(pod Pod) bool { return pod.Asked && pod.Fate == Undecided }
	return p.spec.Suspend && !p.spec.Deleting && p.state.interim() == nil && p.state.tally(asked) == 0
}

// terminate plans to end the Pods, and nothing else: the Job goes on from their list.
func (p *pass) terminate(termination Termination, verdict Verdict) {
	decided := p.state
	p.state, p.plan = p.before, Plan{Terminate: termination, Judge: p.plan.Judge}
	p.state.Judged, p.state.Verdict = decided.Judged, verdict
	p.state.Pods = slices.Clone(p.before.Pods)
	known := byUID(decided.Pods)
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if late := known[pod.UID]; late != nil && late.PendingFailed {
			pod.PendingFailed, pod.Finished, pod.Reason, pod.Message = true, late.Finished, late.Reason, late.Message
		}
	}
	p.clockPending()
}

// looksFor reports whether to list the Pods before the verdict that none is left. With fixed
// completions the State knows all Pods, unless a fact names others.
func (p *pass) looksFor(decided Verdict) bool {
	if decided.Reason != batchv1.JobReasonCompletionsReached || p.state.interim() != nil || p.listed || p.now.Before(p.state.StatusRetry.Until) {
		return false
	}
	return p.spec.Completions == nil || p.state.Doubt
}
