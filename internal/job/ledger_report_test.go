package job_test

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

func (l *ledger) listed(list job.List) {
	listed := map[string]bool{}
	for _, fact := range list.Facts {
		listed[fact.UID] = true
	}
	l.hear(list.Facts)
	for _, fact := range list.Facts {
		l.meet(fact)
	}
	for _, pod := range l.c.pods {
		if l.pods[pod.uid] == nil && !pod.foreign {
			l.giveUp(pod)
		}
	}
	for uid, known := range l.pods {
		if known.closed {
			continue
		}
		known.fact.Gone = known.fact.Gone || !listed[uid]
		if known.asked {
			l.resolve(known, listed[uid])
		}
	}
}

// resolve decides on a Pod whose delete was asked for by a plan that had no answer: what was
// removed, or ended for a success, is not counted.
func (l *ledger) resolve(known *entry, listed bool) {
	failure, success := l.ended().interim == batchv1.JobFailureTarget, l.ended().interim == batchv1.JobSuccessCriteriaMet
	gone := !listed && !failure
	if known.fate == job.Undecided && (gone || success && known.fact.Deleting || l.ended() == (ruling{}) && !known.fact.Tracked) {
		known.fate = job.PodUncounted
	}
	known.asked = failure && listed && known.fact.Deleting && known.fate == job.Undecided
}

// ended is the verdict that is recorded, written or not.
func (l *ledger) ended() ruling {
	if recorded := l.recorded(); recorded != (ruling{}) {
		return recorded
	}
	return l.decided
}

// restart forgets all but what the status and a list of the Pods say. What
// uncountedTerminatedPods names and has lost its finalizer was counted by upstream
// already; what carries it is counted now.
func (l *ledger) restart(list job.List) {
	status := l.c.status
	l.status = status
	l.clean, l.decided, l.backoff = false, ruling{}, naiveBackoff{}
	l.succeeded, l.failed = status.Succeeded, status.Failed
	l.completed, l.failedIndexes = setOf(status.CompletedIndexes), setOf(dereference(status.FailedIndexes))
	tracked := map[string]bool{}
	for uid, known := range l.pods {
		known.closed = true
		l.pods[uid] = known
	}
	for _, fact := range list.Facts {
		tracked[fact.UID] = fact.Tracked
		known := &entry{fact: fact, own: !l.c.byUID(fact.UID).foreign, closed: !fact.Tracked && fact.Ended()}
		switch {
		case !fact.Tracked:
			known.fate = job.PodUncounted
		case !slices.Contains(list.Counted, fact.UID):
		case fact.Phase == corev1.PodSucceeded:
			known.fate = job.PodSucceeded
		default:
			known.fate = job.PodFailed
			if !known.active() {
				l.remembered[fact.UID] = true
			}
		}
		l.pods[fact.UID] = known
	}
	if uncounted := status.UncountedTerminatedPods; uncounted != nil {
		for _, uid := range uncounted.Succeeded {
			if !tracked[string(uid)] {
				l.succeeded++
			}
		}
		for _, uid := range uncounted.Failed {
			if !tracked[string(uid)] {
				l.failed++
			}
		}
	}
}

// rebase takes in what the API server has after it refused a status: indexes that
// were to be forgotten are there still.
func (l *ledger) rebase() {
	l.status = l.c.status
	maps.Copy(l.completed, setOf(l.c.status.CompletedIndexes))
	maps.Copy(l.failedIndexes, setOf(dereference(l.c.status.FailedIndexes)))
}

// report takes in the report on a plan.
func (l *ledger) report(plan job.Plan, report job.Report) {
	if report.CreateRefused == "" && report.StatusRefused == "" {
		if plan.Status != nil {
			l.status = *plan.Status
		}
		for _, target := range plan.Releases {
			l.released(l.pods[target.UID])
		}
	}
	for _, failure := range report.Failures {
		known := l.pods[failure.UID]
		if !deletes(plan, failure.UID) {
			known.fact.Tracked = true
			continue
		}
		known.fact.Tracked, known.fact.Deleting = known.before.fact.Tracked, known.before.fact.Deleting
		if removes(plan, failure.UID) {
			known.fate = known.before.fate
		}
	}
	for _, target := range plan.Deletes {
		if !slices.ContainsFunc(report.Failures, func(failure job.PodFailure) bool { return failure.UID == target.UID }) {
			l.pods[target.UID].fact.Deleting = true
		}
	}
	for _, fact := range report.Unexpected {
		known := l.pods[fact.UID]
		if deletes(plan, fact.UID) && !fact.Disowned {
			*known = *known.before
		}
		known.learn(fact)
	}
	for _, uid := range report.Vanished {
		l.pods[uid].fact.Gone = true
	}
	l.close()
}

func deletes(plan job.Plan, uid string) bool {
	return slices.ContainsFunc(plan.Deletes, func(target job.Delete) bool { return target.UID == uid })
}

// refuted takes in that no verdict stands. What was heard of the Pods that are not counted is dropped, and a list tells again.
func (l *ledger) refuted(report job.Report) {
	l.decided = ruling{}
	for _, known := range l.open() {
		if known.fate != job.Undecided {
			continue
		}
		fact, heard := &known.fact, !known.active() || known.pendingOver || known.fact.Restarts > 0
		if heard && (report.NoReason != "" || slices.Contains(report.Unseen, fact.UID)) {
			fact.Phase, fact.Version, fact.Deleting, fact.Gone = "", 0, false, false
			fact.Exits, fact.Conditions, fact.Finished = nil, nil, time.Time{}
		}
		// One that was given up, and deleted for that, by an earlier attempt stays so.
		pod := find(l.c.state, fact.UID)
		known.pendingOver, fact.Restarts = known.pendingOver && pod != nil && pod.PendingFailed, 0
	}
}

// released counts what is said of a Pod once.
func (l *ledger) released(known *entry) {
	known.fact.Tracked = false
	if known.released {
		return
	}
	known.released = true
	if action := l.action(known); action != "" && (known.fate == job.PodFailed || known.fate == job.PodIgnored) {
		l.handled[action]++
	}
	if known.pendingOver {
		l.expired++
	}
}

// ask takes in a plan that was recorded, and has no answer.
func (l *ledger) ask(plan job.Plan) {
	if plan.Terminate == job.TerminateForVerdict {
		l.decided = ruling{plan.Next.Verdict.Interim, plan.Next.Verdict.Reason}
	}
	for uid, known := range l.pods {
		if !known.closed && (plan.Terminate != "" && known.active() || deletes(plan, uid) && (l.ended() != (ruling{}) || removes(plan, uid))) {
			known.asked = true
		}
	}
}

func removes(plan job.Plan, uid string) bool {
	return slices.ContainsFunc(plan.Deletes, func(target job.Delete) bool { return target.UID == uid && target.Release })
}

// terminated takes in the answer to a plan that ends all Pods.
func (l *ledger) terminated(plan job.Plan, list job.List) {
	l.ask(plan)
	l.listed(list)
}
