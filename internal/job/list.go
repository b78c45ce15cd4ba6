package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/names"
)

// Reconstruct returns the State of a Job whose workflow is started anew: counters,
// conditions and times come from its status, Pods from a list of them. Pods without
// the finalizer were counted, or given up uncounted, already.
func Reconstruct(name, uid string, status batchv1.JobStatus, pods []PodFact, now time.Time) State {
	state := NewState(name, uid)
	state.Succeeded, state.Failed = status.Succeeded, status.Failed
	state = state.adopt(status)
	var alive []PodFact
	for _, fact := range pods {
		if attempt, ok := names.PodAttempt(name, uid, fact.Name); ok {
			state.Attempts = max(state.Attempts, attempt)
		}
		if !fact.Terminal() || fact.Tracked {
			alive = append(alive, fact)
		}
	}
	state = state.adoptPods(alive).Heard(now)
	for i := range state.Pods {
		if !state.Pods[i].Tracked {
			state.Pods[i].Fate = PodUncounted
		}
	}
	return state
}

// Listed merges a complete list of the Job's Pods, taken while no create was in
// flight: Pods that it does not hold are gone, creates whose Pod it does not hold
// did not happen, and Pods still tracked that count as accounted for are taken in
// again, to be released.
func (s State) Listed(pods []PodFact, now time.Time) State {
	listed := make(map[string]bool, len(pods))
	for _, fact := range pods {
		listed[fact.UID] = true
	}
	before := s.Pods
	s = s.Observe(pods)
	known := newIndex(s.Pods)
	s = s.adoptPods(pods)
	s.Pods = slices.DeleteFunc(s.Pods, func(pod Pod) bool { return !pod.exists() })
	for i := range s.Pods {
		pod := &s.Pods[i]
		if !listed[pod.UID] {
			pod.Gone = true
		}
		if _, ok := known.byUID[pod.UID]; !ok && (pod.terminal() || !pod.Tracked) {
			pod.Fate = PodUncounted
		}
	}
	lists := s.Silence.Lists + 1
	if !slices.EqualFunc(before, s.Pods, equalPods) {
		lists = 0
	}
	s.Silence = Silence{Since: now, Lists: lists}
	return s
}

// adoptPods takes in the Pods of a list that are tracked and not known. Those
// that ended and are accounted for were counted before.
func (s State) adoptPods(pods []PodFact) State {
	known := newIndex(s.Pods)
	s.Pods = slices.Clone(s.Pods)
	for _, fact := range pods {
		if _, ok := known.byUID[fact.UID]; ok || !fact.Tracked && fact.Terminal() {
			continue
		}
		attempt, _ := s.attemptOf(fact, known)
		s.Pods = append(s.Pods, Pod{PodFact: fact, Attempt: attempt})
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
