package job

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Observe takes in the facts of a signal, which a writer of Temporal may have made up. What follows from an end is
// judged before it is carried out (Counted). A list tells what nothing judges: whether there is a Pod that is not in the State,
// whose it is, whether it carries the finalizer or was removed, and whether one that was not released is gone: it would be forgotten,
// and counted again if it is not so.
func (s State) Observe(facts []PodFact) State {
	known := byUID(s.Pods)
	facts = slices.Clone(facts)
	for i := range facts {
		fact, pod := &facts[i], known[facts[i].UID]
		if pod == nil {
			s.Doubt = s.Doubt || fact.Tracked && !fact.Disowned
		} else {
			// Without its finalizer it may go unseen.
			s.Doubt = s.Doubt || fact.Disowned || pod.Tracked && (fact.Gone || fact.Deleting && !fact.Ended() && !fact.Tracked)
			fact.Gone = fact.Gone && !pod.Tracked
		}
		fact.Tracked, fact.Disowned, fact.Removed = true, false, false
	}
	return s.merge(facts)
}

// merge merges facts about known Pods into the State. It is a join: facts may come in any order, late, and more than once, and the
// result is the same.
func (s State) merge(facts []PodFact) State {
	s.Pods = slices.Clone(s.Pods)
	known := byUID(s.Pods)
	for _, fact := range facts {
		s.Unanswered = s.Unanswered || fact.Disowned
		if pod := known[fact.UID]; pod != nil {
			pod.take(fact)
		}
	}
	sortPods(s.Pods)
	return s
}

// take merges a fact into the Pod. What a Pod keeps from its creation is known, and no fact can say otherwise.
func (p *Pod) take(fact PodFact) {
	fact.Name, fact.UID, fact.Index = p.Name, p.UID, p.Index
	fact.Attempt, fact.Failures, fact.Ignored = p.Attempt, p.Failures, p.Ignored
	p.PodFact = join(p.PodFact, fact.plausible())
}

// byUID finds Pods by their UIDs, for as long as the slice is neither sorted nor grown.
func byUID(pods []Pod) map[string]*Pod {
	known := make(map[string]*Pod, len(pods))
	for i := range pods {
		known[pods[i].UID] = &pods[i]
	}
	return known
}

// join merges two facts about one Pod. It is commutative, associative and idempotent: what can only
// grow takes the larger value, the rest comes from the newer fact.
func join(a, b PodFact) PodFact {
	if compareFacts(a, b) < 0 {
		a, b = b, a
	}
	joined := a
	joined.UID = max(a.UID, b.UID)
	joined.Name = max(a.Name, b.Name)
	joined.Index = cmp.Or(a.Index, b.Index)
	switch {
	case b.Version > a.Version:
		joined.Version, joined.Ready = b.Version, b.Ready
		joined.Pending, joined.PendingMessage, joined.PendingSince = b.Pending, b.PendingMessage, b.PendingSince
	case b.Version == a.Version:
		joined.Ready = a.Ready || b.Ready
		if b.Pending > a.Pending || b.Pending == a.Pending && b.PendingMessage > a.PendingMessage {
			joined.Pending, joined.PendingMessage = b.Pending, b.PendingMessage
		}
		joined.PendingSince = later(a.PendingSince, b.PendingSince)
	}
	joined.Failures, joined.Ignored = max(a.Failures, b.Failures), max(a.Ignored, b.Ignored)
	joined.Node = max(a.Node, b.Node)
	joined.Started = earlier(a.Started, b.Started)
	joined.Disowned = a.Disowned || b.Disowned
	joined.Attempt = max(a.Attempt, b.Attempt)
	joined.Removed = a.Removed || b.Removed
	joined.Deleting = a.Deleting || b.Deleting
	joined.Gone = a.Gone || b.Gone
	joined.Tracked = a.Tracked && b.Tracked
	joined.Restarts = max(a.Restarts, b.Restarts)
	joined.Finished = later(a.Finished, b.Finished)
	return joined.plausible()
}

// plausible returns the fact without what is said of Pending Pods only.
func (f PodFact) plausible() PodFact {
	if f.Phase != "" && f.Phase != corev1.PodPending {
		f.Pending, f.PendingMessage, f.PendingSince = "", "", time.Time{}
	}
	return f
}

// compareFacts orders facts of one Pod by how far it has come; equal only if they agree in what join takes from one.
func compareFacts(a, b PodFact) int {
	return cmp.Or(
		cmp.Compare(phaseRank(a.Phase), phaseRank(b.Phase)),
		cmp.Compare(rank(a.saysWhy()), rank(b.saysWhy())),
		cmp.Compare(a.ExitCode, b.ExitCode),
		strings.Compare(a.Reason, b.Reason),
		strings.Compare(a.Message, b.Message),
		strings.Compare(a.Container, b.Container),
		cmp.Compare(a.Signal, b.Signal),
		slices.CompareFunc(a.Exits, b.Exits, func(x, y Exit) int {
			return cmp.Or(cmp.Compare(x.Code, y.Code), strings.Compare(x.Container, y.Container))
		}),
		slices.Compare(a.Conditions, b.Conditions),
		strings.Compare(string(a.Phase), string(b.Phase)),
	)
}

// phaseRank orders phases by how far a Pod has come. Where one reports both terminal phases, the success stands.
func phaseRank(phase corev1.PodPhase) int { return slices.Index(phases, phase) }

var phases = []corev1.PodPhase{corev1.PodPending, corev1.PodUnknown, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}

// saysWhy reports whether the fact says why the Pod ended.
func (f PodFact) saysWhy() bool { return f.ExitCode != 0 || f.Reason != "" || f.Message != "" }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times that are known.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func sortPods(pods []Pod) {
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	})
}
