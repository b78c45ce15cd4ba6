package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// done reports whether the Pod can't run any more.
func (p Pod) done() bool { return p.Ended() || p.Disowned }

// active Pods run or are about to (parity 2.6).
func (p Pod) active() bool { return !p.done() && !p.Deleting }

// terminating Pods still run and are being deleted (parity 2.6).
func (p Pod) terminating() bool { return !p.done() && p.Deleting }

// finished reports how an undecided Pod is to be counted, if it is to be now. A
// Pod that is being deleted counts as failed at once unless the replacement
// policy waits for its end; one that vanished counts as failed (parity 2.6).
func (p Pod) finished(policy batchv1.PodReplacementPolicy) (fate Fate, ok bool) {
	switch {
	case p.Disowned:
		return PodUncounted, true
	case p.Phase == corev1.PodSucceeded:
		return PodSucceeded, true
	case p.Phase == corev1.PodFailed, p.Gone, p.PendingFailed:
		return PodFailed, true
	case p.Deleting && policy != batchv1.Failed:
		return PodFailed, true
	default:
		return Undecided, false
	}
}

func (p *pass) active() int32 { return p.state.tally(Pod.active) + int32(len(p.plan.Creates)) }

func (p *pass) terminating() int32 { return p.state.tally(Pod.terminating) }

func (s State) tally(match func(Pod) bool) int32 {
	count := int32(0)
	for _, pod := range s.Pods {
		if match(pod) {
			count++
		}
	}
	return count
}
