package job

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Observe merges facts into the State. It is a join: facts may come in any
// order, late, and more than once, and the result is the same. Facts about Pods
// that are accounted for change nothing, but that one which says that its Pod is
// alive asks for a list; Pods not known yet (a create whose result was lost) are
// taken in, up to some: of more, which anybody who may write to Temporal may have
// made up, a list tells whether they are there.
func (s State) Observe(facts []PodFact) State {
	return s.observe(facts, room{mostStrangers, mostStrangerTexts})
}

// room is how many Pods are taken in that are not the Job's by their number, and how many
// bytes of texts of theirs.
type room struct{ pods, texts int }

func (r *room) take(fact PodFact) bool {
	r.pods--
	r.texts -= fact.texts()
	return r.pods >= 0 && r.texts >= 0
}

// observe merges facts, and takes in Pods that are not the Job's by their number while there
// is room.
func (s State) observe(facts []PodFact, free room) State {
	known := newIndex(s.Pods)
	for _, pod := range s.Pods {
		if !s.named(pod) || known.names[pod.Name] > 1 {
			free.take(pod.PodFact)
		}
	}
	s.Pods = slices.Clone(s.Pods)
	for _, fact := range facts {
		if fact.UID == "" {
			continue
		}
		fact = fact.plausible()
		s.Unanswered = s.Unanswered || fact.Disowned
		if i, ok := s.find(known, fact); ok {
			s.Pods[i].PodFact = join(s.Pods[i].PodFact, fact)
			s.Pods[i].Met = s.Pods[i].Met || s.meets(fact)
			known.byUID[fact.UID] = i
			continue
		}
		if s.accounted(fact, known) {
			s.Strange = s.Strange || fact.alive() || s.reused(fact)
			continue
		}
		if !free.take(fact) {
			s.Strange = true
			continue
		}
		known.byUID[fact.UID] = len(s.Pods)
		known.names[fact.Name]++
		s.Pods = append(s.Pods, Pod{PodFact: fact, Met: s.meets(fact)})
	}
	sortPods(s.Pods)
	return s
}

// meets reports whether the fact shows that nobody has counted the Pod yet: one of others,
// or that a forgotten plan has asked for. Without the finalizer it may be one that an
// earlier workflow of the Job has counted.
func (s State) meets(fact PodFact) bool { return fact.Tracked && !s.named(Pod{PodFact: fact}) }

// accounted reports whether an unknown Pod is already accounted for. A Pod whose name
// a known Pod has too is not: a create that was repeated because its result was
// lost may have met a name that had become free.
func (s State) accounted(fact PodFact, known index) bool {
	if s.named(Pod{PodFact: fact}) && known.names[fact.Name] == 0 {
		return true
	}
	return s.over(fact.UID)
}

// over reports whether the Pod is among those that are accounted for by their UID.
func (s State) over(uid string) bool {
	_, found := slices.BinarySearch(s.Accounted, uid)
	return found
}

// reused reports whether a fact that is accounted for may be of a Pod that is not: a plan
// that is forgotten has asked for it, of an index for which the next plan did not, and
// that one gave its number to another. One that carries the finalizer was never released,
// unless the fact is late: a list tells.
func (s State) reused(fact PodFact) bool {
	return !s.over(fact.UID) && fact.Tracked && !fact.Disowned && fact.Index != nil
}

// index finds Pods of a State by UID and, while that is not known, by name.
type index struct {
	byUID     map[string]int
	requested map[string]int
	// names counts the Pods of each name.
	names map[string]int
}

func newIndex(pods []Pod) index {
	known := index{
		byUID:     make(map[string]int, len(pods)),
		requested: map[string]int{},
		names:     make(map[string]int, len(pods)),
	}
	for i, pod := range pods {
		known.names[pod.Name]++
		if pod.UID == "" {
			known.requested[pod.Name] = i
		} else {
			known.byUID[pod.UID] = i
		}
	}
	return known
}

// find finds the Pod that a fact is about. A Pod that is accounted for may have the name of
// one that is asked for: a forgotten plan had made it.
func (s State) find(known index, fact PodFact) (int, bool) {
	if i, ok := known.byUID[fact.UID]; ok {
		return i, true
	}
	if s.over(fact.UID) {
		return 0, false
	}
	i, ok := known.requested[fact.Name]
	delete(known.requested, fact.Name)
	return i, ok
}

// join merges two facts about one Pod. It is commutative, associative and
// idempotent: what can only grow takes the larger value, what can change either
// way comes from the newer fact.
func join(a, b PodFact) PodFact {
	if compareFacts(a, b) < 0 {
		a, b = b, a
	}
	joined := a
	joined.UID = max(a.UID, b.UID)
	joined.Name = max(a.Name, b.Name)
	if joined.Index == nil {
		joined.Index = b.Index
	}
	newest := a
	if b.Version > a.Version {
		newest = b
	}
	joined.Ready = newest.Ready
	if a.Version == b.Version {
		joined.Ready = a.Ready || b.Ready
	}
	joined.Pending, joined.PendingMessage = newest.Pending, newest.PendingMessage
	if a.Version == b.Version && (b.Pending > a.Pending || b.Pending == a.Pending && b.PendingMessage > a.PendingMessage) {
		joined.Pending, joined.PendingMessage = b.Pending, b.PendingMessage
	}
	joined.Version = newest.Version
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
		f.Pending, f.PendingMessage = "", ""
	}
	return f
}

// compareFacts orders facts of one Pod by how far the Pod has come; equal only
// for facts that agree in all that join takes from the further one.
func compareFacts(a, b PodFact) int {
	return cmp.Or(
		cmp.Compare(phaseRank(a.Phase), phaseRank(b.Phase)),
		cmp.Compare(evidence(a), evidence(b)),
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

// phaseRank orders phases by how far a Pod has come. Should a Pod ever report
// both terminal phases, the success stands: its work was done.
func phaseRank(phase corev1.PodPhase) int {
	switch phase {
	case corev1.PodPending:
		return 1
	case corev1.PodUnknown:
		return 2
	case corev1.PodRunning:
		return 3
	case corev1.PodFailed:
		return 4
	case corev1.PodSucceeded:
		return 5
	default:
		return 0
	}
}

// evidence prefers facts that say why a Pod ended.
func evidence(fact PodFact) int {
	if fact.ExitCode != 0 || fact.Reason != "" || fact.Message != "" {
		return 1
	}
	return 0
}

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
		return cmp.Or(
			cmp.Compare(a.Attempt, b.Attempt),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.UID, b.UID),
		)
	})
}
