package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// indexed reports whether the Job's Pods have completion indexes.
func (s Spec) indexed() bool { return s.CompletionMode == batchv1.IndexedCompletion }

// perIndex reports whether every index has a back-off limit of its own.
func (s Spec) perIndex() bool { return s.indexed() && s.BackoffLimitPerIndex != nil }

// completions is spec.completions, which an Indexed Job always has.
func (p *pass) completions() int32 { return ptr.Deref(p.spec.Completions, 0) }

// validIndex reports whether the Pod has an index that the Job counts.
func (p *pass) validIndex(pod Pod) bool {
	return pod.Index != nil && *pod.Index >= 0 && *pod.Index < p.completions()
}

// misplaced returns the active Pods of an Indexed Job that are removed in any case: those without a valid index, and
// all but the most advanced of each index. candidates are in the order of their removal (parity 2.10 c).
func (p *pass) misplaced(candidates []int) (misplaced, rest []int) {
	if !p.spec.indexed() {
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

// pendingIndexes returns the lowest indexes, at most count, that a Pod may be created for now: neither over nor taken,
// and not delayed by a back-off of their own. due is when the first of the delayed ones is free. Upstream lets these hold
// up those after them; here others start meanwhile, since the indexes of such a Job do not depend on each other.
func (p *pass) pendingIndexes(count int) (indexes []int32, due time.Time) {
	var taken []int32
	for _, pod := range p.state.Pods {
		// It runs, or has to end first.
		if pod.Index != nil && (pod.active() || p.spec.PodReplacementPolicy == batchv1.Failed && pod.terminating()) {
			taken = append(taken, *pod.Index)
		}
	}
	room := maxIndexRecords - len(p.state.Indexes) - len(p.state.Pods)
	over := p.state.Completed.Union(p.state.FailedIndexes)
	for index := range over.With(taken...).Missing(p.completions()) {
		if len(indexes) == count {
			break
		}
		if at := p.spec.due(p.state.Indexes.of(index).backoff()); p.spec.perIndex() && p.now.Before(at) {
			due = earlier(due, at)
			continue
		}
		if _, known := p.state.Indexes.search(index); !known {
			if room <= 0 {
				continue
			}
			room--
		}
		indexes = append(indexes, index)
	}
	return indexes, due
}

// over reports whether nothing is left to be done for an index.
func (s State) over(index int32) bool {
	return s.Completed.Contains(index) || s.FailedIndexes.Contains(index)
}
