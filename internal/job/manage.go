package job

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/event"
)

// manage makes the number of active Pods what the spec wants: it creates or removes Pods, never both (parity 2.10).
func (p *pass) manage() {
	switch {
	case p.spec.Deleting:
		// Its Pods are given up: they are released, and neither counted, replaced nor removed (parity 2.15).
		for i := range p.state.Pods {
			pod := &p.state.Pods[i]
			if pod.Fate == Undecided && !pod.done() && !pod.Removed {
				p.state.remember(*pod, EndedJobDeleted)
			}
			if pod.Fate == Undecided {
				pod.Fate = PodUncounted
			}
		}
		return
	case len(p.plan.Deletes) > 0, p.capped:
		// Pods that did not start in time, say, go first; creates wait for the next plan.
		return
	case p.spec.Suspend:
		if slices.ContainsFunc(p.removable(), func(i int) bool { return !p.delayed(p.state.Pods[i]) }) || p.state.NeedsList {
			p.plan.Terminate = TerminateForSuspension
		}
		return
	}
	active := p.active()
	want := p.spec.wanted(p.state.Succeeded, active)
	surplus, rest := p.misplaced(p.removable())
	if more := int(active-want) - len(surplus); more > 0 {
		surplus = append(surplus, rest[:min(more, len(rest))]...)
	}
	// No other Pod goes in the place of one whose delete has failed.
	surplus = slices.DeleteFunc(surplus, func(i int) bool { return p.delayed(p.state.Pods[i]) })
	switch {
	case len(surplus) > 0 && !p.listed && !p.state.Removing:
		// One that has succeeded is counted instead, and readiness decides which of them go.
		p.plan.List = true
		return
	case len(surplus) > 0:
		for _, i := range surplus[:min(len(surplus), perPlan)] {
			p.remove(&p.state.Pods[i])
		}
		p.state.Removing = len(surplus) > perPlan
		return
	}
	p.state.Removing = false
	missing := want - active
	if p.spec.PodReplacementPolicy == batchv1.Failed {
		missing -= p.terminating()
	}
	if missing > 0 {
		p.create(int(missing))
	}
}

// wanted is how many Pods should run: those missing, up to parallelism; of a work-queue Job no new ones after a success.
func (s Spec) wanted(succeeded, active int32) int32 {
	parallelism := min(s.Parallelism, maxActive)
	switch {
	case s.Completions != nil:
		return min(max(*s.Completions-succeeded, 0), parallelism)
	case succeeded > 0:
		return active
	}
	return parallelism
}

// remove deletes a Pod that is not wanted, uncounted: the finalizer goes first.
func (p *pass) remove(pod *Pod) {
	p.delete(pod, true)
	pod.Fate, pod.Tracked = PodUncounted, false
}

func (p *pass) delete(pod *Pod, release bool) {
	p.plan.Deletes = append(p.plan.Deletes, Delete{Name: pod.Name, UID: pod.UID, Release: release})
	pod.Deleting = true
}

// removable returns the places of the active Pods in the order of their removal: those that were to go before, the least
// advanced, then those with more restarts, then newer ones (ActivePods of parity 2.10, as far as facts tell).
func (p *pass) removable() []int {
	var candidates []int
	for i, pod := range p.state.Pods {
		if pod.active() {
			candidates = append(candidates, i)
		}
	}
	slices.SortStableFunc(candidates, func(a, b int) int {
		x, y := p.state.Pods[a], p.state.Pods[b]
		return cmp.Or(
			cmp.Compare(rank(x.remains()), rank(y.remains())),
			cmp.Compare(removalRank(x.Phase), removalRank(y.Phase)),
			cmp.Compare(rank(x.Ready), rank(y.Ready)),
			cmp.Compare(y.Restarts, x.Restarts),
			cmp.Compare(y.Attempt, x.Attempt),
			cmp.Compare(ptr.Deref(y.Index, 0), ptr.Deref(x.Index, 0)),
		)
	})
	return candidates
}

// remains reports whether the Pod was not to be removed before.
func (p Pod) remains() bool { return p.Fate == Undecided && p.Retry.Refusals == 0 }

func removalRank(phase corev1.PodPhase) int {
	return slices.Index([]corev1.PodPhase{corev1.PodUnknown, corev1.PodRunning}, phase)
}

func rank(ready bool) int {
	if ready {
		return 1
	}
	return 0
}

// recordSuspension keeps the Suspended condition and startTime in step with
// spec.suspend: suspending clears startTime, resuming sets it anew (parity 2.12).
func (p *pass) recordSuspension() {
	switch {
	case p.spec.Suspend:
		p.state.StartTime = time.Time{}
		if p.setCondition(batchv1.JobSuspended, corev1.ConditionTrue, reasonSuspended, "Job suspended") {
			p.emit(event.Normal("Suspended", "Job suspended"))
		}
	case firstTrue(p.state.Conditions, batchv1.JobSuspended) != nil:
		p.setCondition(batchv1.JobSuspended, corev1.ConditionFalse, reasonResumed, "Job resumed")
		p.state.StartTime = p.second
		p.emit(event.Normal("Resumed", "Job resumed"))
	}
}
