package job_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

func (l *ledger) listed(list job.List) {
	listed := map[string]bool{}
	for _, fact := range list.Pods {
		listed[fact.UID] = true
	}
	l.hear(list.Pods)
	for _, pod := range l.c.pods {
		if l.pods[pod.uid] == nil && !pod.foreign {
			l.giveUp(pod)
		}
	}
	for uid, known := range l.pods {
		if !listed[uid] && !known.closed {
			known.fact.Gone = true
		}
	}
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
	for _, fact := range list.Pods {
		tracked[fact.UID] = fact.Tracked
		known := &entry{fact: fact, own: !l.c.byUID(fact.UID).foreign, met: fact.Tracked, closed: !fact.Tracked && fact.Ended()}
		switch {
		case !fact.Tracked:
			known.fate = job.PodUncounted
		case !slices.Contains(list.Counted, fact.UID):
		case fact.Phase == corev1.PodSucceeded:
			known.fate = job.PodSucceeded
		default:
			known.fate = job.PodFailed
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

// report takes in what came of a plan.
func (l *ledger) report(plan job.Plan, report job.Report) {
	if report.CreateRefused == "" && report.StatusRefused == "" && !report.PodsOnly {
		if plan.Status != nil {
			l.status = *plan.Status
		}
		for _, target := range plan.Releases {
			l.released(l.pods[target.UID])
		}
	}
	for _, failure := range report.Failures {
		known := l.pods[failure.UID]
		if known.undeleted = deletes(plan, failure.UID); known.undeleted {
			known.fact.Tracked = known.before.fact.Tracked
		} else {
			known.fact.Tracked = true
		}
	}
	for _, fact := range report.Found {
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

// retryDeletes takes from the plan which deletes are tried again that have failed. What
// was to be removed and has ended before that is counted.
func (l *ledger) retryDeletes(plan job.Plan) {
	for uid, known := range l.pods {
		over := known.fact.Ended() || known.fact.Disowned
		switch {
		case known.closed || !known.undeleted:
		case over:
			known.undeleted = false
			if known.fate == job.PodUncounted && known.fact.Tracked && !known.fact.Gone && !known.fact.Disowned && l.recorded() == (ruling{}) && l.decided == (ruling{}) {
				known.fate = job.Undecided
			}
		case deletes(plan, uid):
			known.undeleted = false
			known.fact.Tracked = known.fact.Tracked && known.fate != job.PodUncounted
		}
	}
}
