package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
)

// countFinished gives every Pod that ended since the last plan its Fate, counts it and keeps the back-off records.
func (p *pass) countFinished() {
	var successes, failures []time.Time
	var completed, failed []int32
	verdict := p.state.interim()
	succeeds := verdict != nil && !verdict.failure()
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if pod.Fate != Undecided || pod.Asked {
			continue
		}
		fate := pod.finished(p.spec.PodReplacementPolicy)
		if fate == Undecided {
			continue
		}
		if p.full() {
			break
		}
		if pod.Disowned {
			pod.Fate = fate
			continue
		}
		if pod.done() {
			pod.Retry = Retry{} // That of a delete, which is not needed any more.
		}
		if !pod.Removed {
			p.judge(*pod)
		}
		// Pods may have been ended for a success before a status gave them up.
		if !p.countable(*pod) || succeeds && pod.Deleting && fate != PodSucceeded {
			pod.Fate = PodUncounted
			continue
		}
		finished := earlier(pod.Finished, p.now)
		if fate == PodSucceeded {
			p.count(pod, PodSucceeded)
			if successes = append(successes, finished); p.spec.KeepsSuccesses {
				p.state.remember(*pod, EndedSucceeded)
			}
			if p.spec.indexed() && !p.state.FailedIndexes.Contains(*pod.Index) {
				completed = append(completed, *pod.Index)
			}
			continue
		}
		// An ignored failure delays the next Pod too (parity 2.9).
		failures = append(failures, finished)
		if p.countFailure(pod, finished) {
			failed = append(failed, *pod.Index)
		}
	}
	p.state.Backoff = p.state.Backoff.after(successes, failures)
	p.settleIndexes(completed, failed)
}

// countable reports whether a Pod that ended is to be counted: not one that was removed or lacks its index (parity 2.6).
func (p *pass) countable(pod Pod) bool {
	return !pod.Removed && (!p.spec.indexed() || p.validIndex(pod))
}

// countFailure counts a Pod that failed as spec.podFailurePolicy says; it reports whether its index has failed for good.
func (p *pass) countFailure(pod *Pod, finished time.Time) (indexFailed bool) {
	ignored, fails := p.spec.failsIndex(*pod)
	fate := PodFailed
	if ignored {
		fate = PodIgnored
	}
	p.count(pod, fate)
	p.state.remember(*pod, pod.endedBy())
	if p.spec.perIndex() {
		p.state.Indexes = p.state.Indexes.failed(*pod, ignored, finished)
	}
	return fails
}

// endedBy says why a Pod that counts as failed is ended; empty for one that has ended by itself, for all that is known.
func (p Pod) endedBy() string {
	switch {
	case p.PendingFailed:
		return PendingDeadlineExceeded
	case p.Deleting && !p.Ended():
		return EndedPodDeleted
	}
	return ""
}

// endedFor says why a Pod is ended that can run when the Job has a verdict.
func (p Pod) endedFor(v Verdict) string {
	if p.PendingFailed {
		return PendingDeadlineExceeded
	}
	return v.Reason
}

// failsIndex reports whether the failure of a Pod is ignored, and whether the Pod's index fails by it for good.
func (s Spec) failsIndex(pod Pod) (ignored, fails bool) {
	action := handle(s.PodFailurePolicy, "", pod).action
	ignored = action == batchv1.PodFailurePolicyActionIgnore
	return ignored, s.perIndex() && (action == batchv1.PodFailurePolicyActionFailIndex || !ignored && pod.Failures >= *s.BackoffLimitPerIndex)
}

// announceFailure says why a Pod failed that is being released: by podFailurePolicy, or since it did not start in time.
func (p *pass) announceFailure(pod Pod) {
	if pod.PendingFailed {
		p.emit(event.Warning(PendingDeadlineExceeded, p.pendingFailure(pod)))
	}
	action := handle(p.spec.PodFailurePolicy, p.state.Namespace, pod).action
	if action == "" || pod.Fate != PodFailed && pod.Fate != PodIgnored {
		return
	}
	if p.plan.Handled == nil {
		p.plan.Handled = map[batchv1.PodFailurePolicyAction]int32{}
	}
	p.plan.Handled[action]++
}

// full reports whether this plan counts as many Pods as one releases: the next plan counts the rest (parity 2.11).
func (p *pass) full() bool {
	p.capped = p.capped || p.fates == perPlan
	return p.capped
}

func (p *pass) count(pod *Pod, fate Fate) {
	pod.Fate = fate
	p.fates++
	switch {
	case fate == PodFailed:
		p.state.Failed++
	case fate == PodSucceeded && !p.spec.indexed():
		p.state.Succeeded++
	}
}

// settleIndexes adds the indexes that are over. What lies beyond spec.completions
// is forgotten, as upstream does it when an Indexed Job is scaled down (parity 2.11).
func (p *pass) settleIndexes(completed, failed []int32) {
	if !p.spec.indexed() {
		return
	}
	limit := p.completions()
	keptCompleted, keptFailed := p.state.Completed.Below(limit), p.state.FailedIndexes.Below(limit)
	beyond := func(record IndexRecord) bool { return record.Index >= limit }
	if !keptCompleted.Equal(p.state.Completed) || !keptFailed.Equal(p.state.FailedIndexes) || slices.ContainsFunc(p.state.Indexes, beyond) {
		// Should these be wanted again, their numbers go on from here: names of their Pods may still be taken.
		p.state.Dropped = p.state.Dropped.with(limit, p.state.Attempts)
	}
	p.state.Completed = keptCompleted.With(completed...)
	failed = slices.DeleteFunc(failed, p.state.Completed.Contains)
	p.state.FailedIndexes = keptFailed.With(failed...)
	p.state.Succeeded = p.state.Completed.Len()
	p.state.Indexes = slices.DeleteFunc(p.state.Indexes, func(record IndexRecord) bool {
		return beyond(record) || p.state.over(record.Index)
	})
}

// after returns the record after Pods finished at these times: only failures after the newest success count (parity 2.9).
func (b Backoff) after(successes, failures []time.Time) Backoff {
	if len(successes) > 0 {
		newest := slices.MaxFunc(successes, time.Time.Compare)
		failures = slices.DeleteFunc(failures, func(finished time.Time) bool { return !finished.After(newest) })
		b = Backoff{}
	}
	for _, finished := range failures {
		b.Failures++
		b.Last = later(b.Last, finished)
	}
	return b
}

// release asks to let go of every Pod whose outcome is recorded.
func (p *pass) release() {
	for _, pod := range p.state.Pods {
		if pod.Gone || pod.Disowned || !pod.Tracked || pod.Fate == Undecided || p.delayed(pod) {
			continue
		}
		if len(p.plan.Releases) == perPlan {
			p.capped = true
			return
		}
		if !pod.Announced {
			p.announceFailure(pod)
		}
		release := Release{Name: pod.Name, UID: pod.UID, Logs: p.state.wantsLog(pod)}
		if pod.Ended() {
			release.Phase = pod.Phase
		}
		p.plan.Releases = append(p.plan.Releases, release)
	}
}

// prune forgets the Pods that are over, counted and released, and keeps their numbers.
func (p *pass) prune() {
	// They may be those of the State that was decided on.
	p.state.Pods, p.state.Indexes = slices.Clone(p.state.Pods), slices.Clone(p.state.Indexes)
	p.state.Pods = slices.DeleteFunc(p.state.Pods, func(pod Pod) bool {
		if pod.Fate == Undecided || pod.unstated() || !pod.Gone && !pod.Disowned && (!pod.done() || pod.Tracked) {
			return false
		}
		switch {
		case !p.spec.indexed() || pod.Index == nil:
		case !p.validIndex(pod):
			p.state.Dropped = p.state.Dropped.with(p.completions(), p.state.Attempts)
		case !p.state.over(*pod.Index):
			p.state.Indexes = p.state.Indexes.used(pod)
		}
		return true
	})
}
