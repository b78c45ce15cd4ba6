package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// indexed reports whether the Job's Pods have completion indexes.
func (p *pass) indexed() bool { return p.spec.indexed() }

func (s Spec) indexed() bool { return s.CompletionMode == batchv1.IndexedCompletion }

// perIndex reports whether every index has a back-off limit of its own.
func (p *pass) perIndex() bool { return p.indexed() && p.spec.BackoffLimitPerIndex != nil }

// completions is spec.completions, which an Indexed Job always has.
func (p *pass) completions() int32 { return ptr.Deref(p.spec.Completions, 0) }

// validIndex reports whether the Pod has an index that the Job counts.
func (p *pass) validIndex(pod Pod) bool {
	return pod.Index != nil && *pod.Index >= 0 && *pod.Index < p.completions()
}

// misplaced returns the active Pods of an Indexed Job that are removed in any case: those without a valid index, and
// all but the most advanced of each index. candidates are in the order of their removal (parity 2.10 c).
func (p *pass) misplaced(candidates []int) (misplaced, rest []int) {
	if !p.indexed() {
		return nil, candidates
	}
	best := map[int32]int{}
	for _, i := range candidates {
		if pod := p.state.Pods[i]; p.validIndex(pod) {
			best[*pod.Index] = i
		}
	}
	for _, i := range candidates {
		if pod := p.state.Pods[i]; p.validIndex(pod) && best[*pod.Index] == i {
			rest = append(rest, i)
		} else {
			misplaced = append(misplaced, i)
		}
	}
	return misplaced, rest
}

// pendingIndexes returns the lowest indexes, at most count, that a Pod may be created for now:
// neither over nor taken, and not delayed by a back-off of their own. due is when the first of the
// delayed ones is free. Upstream lets delayed indexes hold up those after them; here these start
// meanwhile, since the indexes of such a Job do not depend on each other.
func (p *pass) pendingIndexes(count int) (indexes []int32, due time.Time) {
	over := p.state.Completed.Union(p.state.FailedIndexes).With(p.indexesOf(p.taken)...)
	for index := range over.Missing(p.completions()) {
		if len(indexes) == count {
			break
		}
		if p.perIndex() {
			if at := p.state.Indexes.of(index).due(p.config); p.now.Before(at) {
				if due.IsZero() || at.Before(due) {
					due = at
				}
				continue
			}
		}
		indexes = append(indexes, index)
	}
	return indexes, due
}

// taken reports whether the Pod keeps others of its index from being created: it runs, or has to end first.
func (p *pass) taken(pod Pod) bool {
	return pod.active() || p.spec.PodReplacementPolicy == batchv1.Failed && pod.terminating()
}

func (p *pass) indexesOf(match func(Pod) bool) []int32 {
	var indexes []int32
	for _, pod := range p.state.Pods {
		if pod.Index != nil && match(pod) {
			indexes = append(indexes, *pod.Index)
		}
	}
	return indexes
}

// over reports whether nothing is left to be done for an index.
func (s State) over(index int32) bool {
	return s.Completed.Contains(index) || s.FailedIndexes.Contains(index)
}
