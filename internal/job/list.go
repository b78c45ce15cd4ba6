package job

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// List is a list of the Job's Pods, taken while no create was in flight. Pods that ended and were
// released are in it only if the State asks for them (Undecided).
type List struct {
	Facts []PodFact `json:"pods"`
	// Attempts is the highest number of any of the Job's Pods, those not in Facts included.
	Attempts int64 `json:"attempts,omitempty"`
	// Counted are the UIDs of Pods that the Job's status counts although they carry the
	// tracking finalizer (names.CountedAnnotation).
	Counted []string `json:"counted,omitempty"`
	// Failures are the deletes that failed, of a list after a Plan that terminates.
	Failures []PodFailure `json:"failures,omitempty"`
}

// Begin returns the State of a Job whose workflow starts. A Job that has a past, or may
// have Pods, asks to be rebuilt from what there is of it.
func Begin(namespace, name, uid string, spec Spec, begun bool) State {
	state := NewState(namespace, name, uid)
	state.Rebuild = begun || spec.ManualSelector
	return state
}

// Begun reports whether a Job has a past: some controller has written its status.
func Begun(status batchv1.JobStatus) bool {
	return status.StartTime != nil || len(status.Conditions) > 0
}

// Reconstruct returns the State after a Plan.Rebuild: counters, indexes, conditions and times
// come from the Job's status, Pods from their list. Evidence and the numbers of attempts stay.
// Pods without the finalizer were counted or given up before; the list holds the failed ones if
// indexes have a back-off of their own (protocol.ListPodsRequest.Rebuild).
func Reconstruct(before State, spec Spec, status batchv1.JobStatus, list List, asked time.Time) State {
	state := NewState(before.Namespace, before.Name, before.UID)
	state.Evidence, state.EvidenceOmitted = before.Evidence, before.EvidenceOmitted
	state.Announced = before.Announced
	state.CreateRetry, state.StatusRetry = before.CreateRetry, before.StatusRetry
	state.Succeeded, state.Failed = status.Succeeded, status.Failed
	state = state.takeStatus(status)
	state.Completed, state.FailedIndexes = state.WrittenCompleted, state.WrittenFailed
	if spec.indexed() {
		// Of a Job that was scaled down status.succeeded may still hold more (reportedSuccesses).
		state.Succeeded = state.Completed.Len()
	}
	state.Attempts = max(list.Attempts, before.Attempts)
	state.Indexes, state.Dropped = before.Indexes.numbers(), before.Dropped
	state.flushUncounted(spec, status.UncountedTerminatedPods, list.Facts)
	state = state.takePods(list.Facts).Heard(asked)
	state.Listing = asked
	state.takeCounted(list.Counted)
	state.recountIndexes(spec, list.Facts)
	return state
}

// flushUncounted counts the Pods that upstream has noted in the status and released, but not
// yet added to the counters (parity 2.11).
func (s *State) flushUncounted(spec Spec, uncounted *batchv1.UncountedTerminatedPods, pods []PodFact) {
	if uncounted == nil {
		return
	}
	tracked := map[string]bool{}
	for _, fact := range pods {
		tracked[fact.UID] = fact.Tracked
	}
	for _, uid := range uncounted.Succeeded {
		if !tracked[string(uid)] && !spec.indexed() {
			s.Succeeded++
		}
	}
	for _, uid := range uncounted.Failed {
		if !tracked[string(uid)] {
			s.Failed++
		}
	}
}

// recountIndexes reads the number of Pods of each index from their names, and its failures from
// their annotations, but for Pods that are still to be counted.
func (s *State) recountIndexes(spec Spec, pods []PodFact) {
	if !spec.indexed() {
		return
	}
	known := byUID(s.Pods)
	for _, fact := range pods {
		counts := known[fact.UID]
		if counts != nil && counts.Fate == Undecided || fact.Index == nil || s.over(*fact.Index) {
			continue
		}
		pod := Pod{PodFact: fact}
		s.Indexes = s.Indexes.used(pod)
		if spec.BackoffLimitPerIndex == nil {
			continue
		}
		if fate, ok := pod.finished(spec.PodReplacementPolicy); ok && fate == PodFailed {
			ignored := handle(spec.PodFailurePolicy, s.Namespace, pod).action == batchv1.PodFailurePolicyActionIgnore
			s.Indexes = s.Indexes.failed(pod, ignored, fact.Finished)
		}
	}
}

// Listed merges a list of the Job's Pods, asked for at an instant: Pods missing from it are gone, unknown ones are
// taken in. A Pod leaves the State when it is counted and released, so one that carries the finalizer was not counted.
func (s State) Listed(list List, asked time.Time) State {
	listed := make(map[string]bool, len(list.Facts))
	for _, fact := range list.Facts {
		listed[fact.UID] = true
	}
	before := s.Pods
	s = s.Observe(list.Facts).takePods(list.Facts)
	s.Attempts = max(s.Attempts, list.Attempts)
	for i := range s.Pods {
		pod := &s.Pods[i]
		if !listed[pod.UID] {
			pod.Gone = true
		}
		if pod.Asked {
			s.resolve(pod, listed[pod.UID])
		}
	}
	lists := s.Silence.Lists + 1
	if !slices.EqualFunc(before, s.Pods, equalPods) {
		lists = 0
	}
	s.Silence = Silence{Since: asked, Lists: lists}
	s.Listing, s.NeedsList, s.UnknownPods, s.ErrorRetry = asked, false, false, Retry{}
	return s
}

// takePods takes in the Pods of a list that are not known. One without the finalizer was counted before, or given up.
func (s State) takePods(pods []PodFact) State {
	known := byUID(s.Pods)
	s.Pods = slices.Clone(s.Pods)
	for _, fact := range pods {
		if known[fact.UID] != nil || fact.Disowned || !fact.Tracked && fact.Ended() {
			continue
		}
		pod := Pod{PodFact: fact.plausible()}
		if !fact.Tracked {
			pod.Fate = PodUncounted
		}
		s.Pods = append(s.Pods, pod)
	}
	sortPods(s.Pods)
	return s
}

func equalPods(a, b Pod) bool {
	a.Version, b.Version = 0, 0
	return a.Attempt == b.Attempt && a.Fate == b.Fate && compareFacts(a.PodFact, b.PodFact) == 0 &&
		a.UID == b.UID && a.Ready == b.Ready && a.Deleting == b.Deleting && a.Gone == b.Gone &&
		a.Tracked == b.Tracked && a.Restarts == b.Restarts
}

// longList is the size from which on a list of facts is shortened, in bytes of JSON.
const longList = 3 << 20

// Shortened returns facts that are long in sum without what nothing is decided from: thousands of Pods may all have
// failed. The last Pods, as many as keep, keep their messages, and each Pod keeps the exit or condition by which a rule
// of the podFailurePolicy matches it. These facts are sorted by attempt.
func Shortened(facts []PodFact, spec Spec, keep int) []PodFact {
	if data, err := json.Marshal(facts); err == nil && len(data) <= longList {
		return facts
	}
	slices.SortStableFunc(facts, func(a, b PodFact) int { return cmp.Compare(a.Attempt, b.Attempt) })
	for i := range facts {
		facts[i] = facts[i].decisive(spec.PodFailurePolicy)
		if i < len(facts)-keep {
			facts[i].Message, facts[i].PendingMessage = "", ""
		}
	}
	return facts
}

// decisive leaves out the exits and conditions that do not decide how the policy, which is immutable, handles the Pod.
func (f PodFact) decisive(policy *batchv1.PodFailurePolicy) PodFact {
	handled := handle(policy, "", Pod{PodFact: f})
	one := f
	one.Exits, one.Conditions = nil, nil
	if handled == (handling{}) {
		return one
	}
	for i := range f.Exits {
		if one.Exits = f.Exits[i : i+1]; handle(policy, "", Pod{PodFact: one}) == handled {
			return one
		}
	}
	one.Exits = nil
	for i := range f.Conditions {
		if one.Conditions = f.Conditions[i : i+1]; handle(policy, "", Pod{PodFact: one}) == handled {
			return one
		}
	}
	return f
}
