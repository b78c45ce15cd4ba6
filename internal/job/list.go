package job

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// List is a list of the Job's Pods, taken while no create was in flight. Pods that ended and were
// released are in it only if the State asks for them (Undecided).
type List struct {
	Facts []PodFact `json:"pods"`
	// Attempts is the highest number of any Pod that was read, those not in Facts included.
	Attempts int64 `json:"attempts,omitempty"`
	// Counted are the UIDs of Pods that the status counts and that carry the finalizer (names.CountedAnnotation).
	Counted []string `json:"counted,omitempty"`
	// Failures are the deletes that failed, of a list after a Plan that terminates.
	Failures []PodFailure `json:"failures,omitempty"`
	// Removed are the Pods that a suspension has just removed, by their places among the Undecided of the request.
	Removed Indexes `json:"removed,omitzero"`
}

// Short returns the list with the places of Pods that a suspension has removed instead of their facts: there may be
// thousands. Restarts, which count for the backoffLimit, keep theirs, and the caller knows the rest.
func (l List) Short(undecided []PodName) List {
	places := make(map[string]int32, len(undecided))
	for place, pod := range undecided {
		places[pod.UID] = int32(place)
	}
	var removed []int32
	l.Facts = slices.DeleteFunc(slices.Clone(l.Facts), func(fact PodFact) bool {
		place, asked := places[fact.UID]
		if asked = asked && fact.Removed && fact.Deleting && !fact.Ended() && fact.Restarts == 0; asked {
			removed = append(removed, place)
		}
		return asked
	})
	l.Removed = l.Removed.With(removed...)
	return l
}

// Begin returns the State of a Job whose workflow starts. It takes the Job for one without a past until a request says
// otherwise (Base). With list it asks to be rebuilt, as one does that may have Pods by its selector.
func Begin(namespace, name, uid string, spec Spec, list bool) State {
	return State{Namespace: namespace, Name: name, UID: uid, Rebuild: list || spec.ManualSelector}
}

// HasStatus reports whether some controller has written the status of a Job.
func HasStatus(status batchv1.JobStatus) bool {
	return status.StartTime != nil || len(status.Conditions) > 0
}

// Reconstruct returns the State after a Plan.Rebuild: counters, indexes, conditions and times come from the Job's status, Pods
// from their list. Evidence and the numbers of attempts stay. Pods without the finalizer were counted or given up before; the
// list holds the failed ones if indexes have a back-off of their own (protocol.ListPodsRequest.Rebuild).
func Reconstruct(before State, spec Spec, status batchv1.JobStatus, list List, asked time.Time) State {
	state := State{
		Namespace: before.Namespace, Name: before.Name, UID: before.UID,
		Attempts: max(list.Attempts, before.Attempts), Indexes: before.Indexes.numbers(), Dropped: before.Dropped,
		Late: later(before.Late, before.Taken), Evidence: before.Evidence, EvidenceOmitted: before.EvidenceOmitted, Announced: before.Announced,
		CreateRetry: before.CreateRetry, StatusRetry: before.StatusRetry,
		Succeeded: status.Succeeded, Failed: status.Failed,
	}.takeStatus(status)
	state.Completed, state.FailedIndexes = state.WrittenCompleted, state.WrittenFailed
	if spec.indexed() {
		// Of a Job that was scaled down status.succeeded may still hold more (reportedSuccesses).
		state.Succeeded = state.Completed.Len()
	}
	state.flushUncounted(spec, ptr.Deref(status.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{}), list.Facts)
	state = state.takePods(list.Facts)
	state.Listing = asked
	state.takeCounted(list.Counted)
	state.recountIndexes(spec, list.Facts)
	return state
}

// flushUncounted counts the Pods that upstream has noted in the status and released, and not yet counted (parity 2.11).
func (s *State) flushUncounted(spec Spec, uncounted batchv1.UncountedTerminatedPods, pods []PodFact) {
	tracked := map[types.UID]bool{}
	for _, fact := range pods {
		tracked[types.UID(fact.UID)] = fact.Tracked
	}
	for _, uid := range uncounted.Succeeded {
		if !tracked[uid] && !spec.indexed() {
			s.Succeeded++
		}
	}
	for _, uid := range uncounted.Failed {
		if !tracked[uid] {
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
		// A removed Pod counts for nothing, and only its name and its index are taken.
		if spec.perIndex() && !fact.Removed && pod.finished(spec.PodReplacementPolicy) == PodFailed {
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
	s = s.merge(list.Facts).takePods(list.Facts)
	s.Attempts = max(s.Attempts, list.Attempts)
	for i := range s.Pods {
		pod := &s.Pods[i]
		pod.Gone = pod.Gone || !listed[pod.UID]
		if pod.Doubted && !listed[pod.UID] && pod.Fate == Undecided {
			pod.Fate = PodUncounted
		}
		pod.Doubted = false
		// A removal may have landed after a list.
		if removed := pod.active() && pod.Removed && !pod.Tracked && pod.Fate == Undecided; pod.Asked || removed {
			s.resolve(pod, listed[pod.UID])
		}
	}
	if !asked.Before(s.Late) {
		s.Late = time.Time{}
	}
	if !asked.Before(s.Taken) {
		s.Taken = time.Time{}
	}
	s.Listing, s.NeedsList, s.Doubt, s.ErrorRetry = asked, false, false, Retry{}
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
			// One that was to be removed, and released for that, is deleted.
			pod.Fate, pod.Asked = PodUncounted, fact.Removed
		}
		s.Pods = append(s.Pods, pod)
	}
	sortPods(s.Pods)
	return s
}

// longList is the size from which on a list of facts is shortened, in bytes of JSON.
const longList = 3 << 20

// Shortened returns facts that are long in sum without what nothing is decided from: thousands of Pods may all have
// failed. The last Pods, which are evidence, keep their messages, and each Pod keeps the exit or condition by which a
// rule of the podFailurePolicy matches it. These facts are sorted by attempt.
func Shortened(facts []PodFact, spec Spec) []PodFact {
	if data, err := json.Marshal(facts); err == nil && len(data) <= longList {
		return facts
	}
	slices.SortStableFunc(facts, func(a, b PodFact) int { return cmp.Compare(a.Attempt, b.Attempt) })
	for i := range facts {
		facts[i] = facts[i].decisive(spec.PodFailurePolicy)
		if i < len(facts)-maxAttempts {
			facts[i].Message, facts[i].PendingMessage = "", ""
		}
	}
	return facts
}
