package job_test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// ledger counts a Job's Pods a second time, naively: plain maps, one Pod after the
// other, by the words of parity 2.6, 2.7, 2.11 and 2.14. It knows what the workflow
// was told, and compares after every plan.
type ledger struct {
	c    *cluster
	pods map[string]*entry
	// status is the last one that the workflow knows of.
	status batchv1.JobStatus
	// succeeded and failed are the counters, completed and failedIndexes the sets.
	succeeded, failed int32
	completed         map[int32]bool
	failedIndexes     map[int32]bool
	// failJob is set when a Pod that ended matches a FailJob rule.
	failJob bool
	// decided is the verdict that Pods were deleted by, written or not.
	decided ruling
	backoff naiveBackoff
	// remembered are the Pods whose evidence is to be kept, handled and expired count
	// those that were released and match a rule of podFailurePolicy, or did not start.
	remembered map[string]bool
	handled    map[batchv1.PodFailurePolicyAction]int32
	expired    int
	// clean histories have no Pods of others, no index that was forgotten and no
	// lost workflow, so that the attempts of an index can be counted.
	clean bool
	// inexact is set when the counters can't be told from the Pods: the Job was taken
	// over, or forgot indexes. crashed is set when a plan was forgotten: what is said of
	// a Pod once is said again then, or not at all.
	inexact, crashed bool
	// counts is how many Pods the last plan counted, full says that one takes no more and that there are some.
	counts int
	full   bool
}

// entry is what the workflow knows of a Pod. Closed ones are accounted for.
type entry struct {
	fact job.PodFact
	// own Pods were made by Ostinato.
	own bool
	// asked is set while a delete is under way.
	asked       bool
	fate        job.Fate
	since       time.Time
	pendingOver bool
	closed      bool
	// released is set once the Pod's release was asked for, before what it was before
	// the last plan.
	released bool
	before   *entry
}

// ruling is a verdict: the interim condition and its reason.
type ruling struct {
	interim batchv1.JobConditionType
	reason  string
}

func (c *cluster) withLedger() *cluster {
	c.ledger = &ledger{
		c: c, pods: map[string]*entry{}, completed: map[int32]bool{}, failedIndexes: map[int32]bool{},
		handled: map[batchv1.PodFailurePolicyAction]int32{}, remembered: map[string]bool{}, clean: true,
	}
	return c
}

// copied is a ledger that goes on from here by itself.
func (l *ledger) copied(c *cluster) *ledger {
	other := *l
	other.c, other.pods = c, make(map[string]*entry, len(l.pods))
	for uid, known := range l.pods {
		known := *known
		other.pods[uid] = &known
	}
	other.completed, other.failedIndexes = maps.Clone(l.completed), maps.Clone(l.failedIndexes)
	other.handled, other.remembered = maps.Clone(l.handled), maps.Clone(l.remembered)
	return &other
}

func (l *ledger) created(pod *modelPod) {
	if _, ok := l.pods[pod.uid]; !ok {
		l.pods[pod.uid] = &entry{own: true, fact: job.PodFact{
			Name: pod.name, UID: pod.uid, Index: pod.index, Failures: pod.failures, Ignored: pod.ignored, Tracked: true,
		}}
	}
}

// hear takes in facts of the Pods that are known; only a list brings others.
func (l *ledger) hear(facts []job.PodFact) {
	for _, fact := range facts {
		if known, ok := l.pods[fact.UID]; ok && !known.closed {
			known.learn(fact)
		}
	}
}

// meet takes in a Pod that a list holds.
func (l *ledger) meet(fact job.PodFact) {
	if _, ok := l.pods[fact.UID]; ok || fact.Disowned || fact.Ended() && !fact.Tracked {
		return
	}
	l.pods[fact.UID] = &entry{fact: fact, own: !l.c.byUID(fact.UID).foreign}
	if !fact.Tracked {
		l.pods[fact.UID].fate = job.PodUncounted
	}
}

// giveUp records that a Pod that was asked for is not the Job's: its name was found
// to be another's, or it is on no list.
func (l *ledger) giveUp(pod *modelPod) { l.pods[pod.uid] = &entry{own: true, closed: true} }

// learn takes a fact if it is the newer one; what was known to be over stays so.
func (e *entry) learn(fact job.PodFact) {
	older := e.fact
	if fact.Version < older.Version {
		fact, older = older, fact
	}
	fact.Deleting = fact.Deleting || older.Deleting
	fact.Gone = fact.Gone || older.Gone
	fact.Disowned = fact.Disowned || older.Disowned
	fact.Tracked = fact.Tracked && older.Tracked
	fact.Removed = fact.Removed || older.Removed
	e.fact = fact
}

// plan counts what a plan had to count and compares.
func (l *ledger) plan(plan job.Plan) {
	l.c.t.Helper()
	for _, known := range l.open() {
		before := *known
		known.before = &before
	}
	if l.c.now.Before(l.c.state.ErrorRetry.Until) {
		l.clockPending()
		if !plan.Idle() {
			l.c.t.Fatalf("%+v is planned during the pause after an error", plan)
		}
		return
	}
	switch plan.Terminate {
	case job.TerminateForVerdict:
		l.expirePending(plan) // That a Pod did not start in time stays said of it.
	case job.TerminateForSuspension:
		l.clockPending()
	}
	if plan.List || plan.Terminate != "" || finished(l.status) {
		return
	}
	l.forgetBeyondCompletions()
	l.deleteAgain(plan)
	l.expirePending(plan)
	l.count()
	verdict, early := l.rule(), true
	if verdict == (ruling{}) {
		l.manage(plan)
		verdict, early = l.complete(plan), false
	}
	if verdict != (ruling{}) {
		l.conclude(plan, verdict)
		if early {
			l.decided = verdict
		}
	}
	l.compare(plan, verdict)
	l.close()
}

// deleteAgain takes from the plan which Pods are deleted that were counted before.
func (l *ledger) deleteAgain(plan job.Plan) {
	for _, target := range plan.Deletes {
		if known := l.pods[target.UID]; known.fate != job.Undecided {
			known.fact.Deleting = true
		}
	}
}

func (l *ledger) open() []*entry {
	var open []*entry
	for _, uid := range slices.Sorted(maps.Keys(l.pods)) {
		if known := l.pods[uid]; !known.closed {
			open = append(open, known)
		}
	}
	// A plan takes the first attempts first.
	slices.SortStableFunc(open, func(a, b *entry) int {
		x, y := l.c.byUID(a.fact.UID), l.c.byUID(b.fact.UID)
		return cmp.Or(cmp.Compare(x.attempt, y.attempt), cmp.Compare(x.name, y.name))
	})
	return open
}

// count decides on every Pod that has ended, or counts as if it had.
func (l *ledger) count() {
	var successes, failures []time.Time
	l.failJob, l.full, l.counts = false, false, 0
	done, failed := map[int32]bool{}, map[int32]bool{}
	for _, known := range l.open() {
		fact := known.fact
		ended := l.finished(known)
		if l.full = l.counts == cut && known.fate == job.Undecided && !known.asked && (ended || fact.Disowned); l.full {
			break
		}
		if known.fate == job.Undecided && !fact.Disowned && !fact.Removed && l.action(known) == batchv1.PodFailurePolicyActionFailJob {
			l.failJob = true
		}
		switch {
		case known.fate != job.Undecided, known.asked:
		case fact.Disowned:
			known.fate = job.PodUncounted
		case !ended:
		case !l.countable(known), l.recorded().interim == batchv1.JobSuccessCriteriaMet && fact.Deleting && fact.Phase != corev1.PodSucceeded:
			known.fate = job.PodUncounted
		case fact.Phase == corev1.PodSucceeded:
			known.fate = job.PodSucceeded
			l.counts++
			successes = append(successes, l.finish(known))
			if !l.c.indexed() {
				l.succeeded++
			} else if !l.failedIndexes[*fact.Index] {
				done[*fact.Index] = true
			}
		default:
			l.counts++
			failures = append(failures, l.finish(known))
			l.remembered[fact.UID] = true
			action := l.action(known)
			known.fate = job.PodIgnored
			if action != batchv1.PodFailurePolicyActionIgnore {
				known.fate = job.PodFailed
				l.failed++
			}
			if limit := l.c.spec.BackoffLimitPerIndex; limit != nil && known.fate == job.PodFailed &&
				(action == batchv1.PodFailurePolicyActionFailIndex || fact.Failures >= *limit) {
				failed[*fact.Index] = true
			}
		}
	}
	l.backoff.add(successes, failures)
	for index := range done {
		l.completed[index] = true
	}
	for index := range failed {
		if !l.completed[index] {
			l.failedIndexes[index] = true
		}
	}
	if l.c.indexed() {
		l.succeeded = int32(len(l.completed))
	}
}

// finished reports whether a Pod has ended, or counts as if it had.
func (l *ledger) finished(known *entry) bool {
	return known.fact.Ended() || known.fact.Deleting && (known.pendingOver || l.c.spec.PodReplacementPolicy != batchv1.Failed)
}

func (l *ledger) countable(known *entry) bool {
	return !known.fact.Removed && (!l.c.indexed() || l.validIndex(known.fact))
}

func (l *ledger) validIndex(fact job.PodFact) bool {
	return fact.Index != nil && *fact.Index < *l.c.spec.Completions
}

func (l *ledger) finish(known *entry) time.Time {
	given := find(l.c.state, known.fact.UID)
	switch {
	case known.pendingOver && given != nil && given.PendingFailed:
		// An earlier plan has given it up, and a crash may lie between.
		return given.Finished
	case known.pendingOver:
		return l.c.now.Truncate(time.Second)
	case known.fact.Finished.IsZero():
		return l.c.now
	}
	return known.fact.Finished
}

// expirePending fails Pods that have not started in time.
func (l *ledger) expirePending(plan job.Plan) {
	limit := time.Duration(l.c.spec.PendingDeadlineSeconds) * time.Second
	halted := l.c.spec.Suspend || l.c.spec.Deleting || l.recorded() != (ruling{})
	if limit <= 0 {
		return
	}
	l.clockPending()
	for _, known := range l.open() {
		fact := known.fact
		starts := fact.Phase == "" && !l.c.state.Doubt || fact.Phase == corev1.PodPending && fact.Pending != ""
		since := known.since
		if fact.PendingSince.After(since) {
			since = fact.PendingSince
		}
		overdue := !l.c.now.Before(since.Add(limit))
		full := len(plan.Deletes) == cut && !deletes(plan, fact.UID)
		if !halted && !full && known.active() && known.fate == job.Undecided && starts && overdue && !l.waits(known) {
			if fact.Phase == "" {
				l.c.t.Fatalf("Pod %s is given up without having been looked at", fact.Name)
			}
			known.pendingOver, known.fact.Deleting = true, plan.Terminate == ""
		}
	}
}

// clockPending starts the clock of Pods that are new.
func (l *ledger) clockPending() {
	for _, known := range l.open() {
		if known.since.IsZero() && l.c.spec.PendingDeadlineSeconds > 0 {
			known.since = l.c.now.Truncate(time.Second)
		}
	}
}

// manage takes from the plan which Pods are removed; that it removes only
// surplus ones is checked apart.
func (l *ledger) manage(plan job.Plan) {
	if l.c.spec.Deleting {
		for _, known := range l.open() {
			if known.fate == job.Undecided {
				known.fate = job.PodUncounted
				if !known.fact.Ended() && !known.fact.Disowned && !known.fact.Removed {
					l.remembered[known.fact.UID] = true
				}
			}
		}
	} else {
		l.checkRemovals(plan)
	}
	for _, deletion := range plan.Deletes {
		if deletion.Release {
			known := l.pods[deletion.UID]
			known.fate, known.fact.Deleting, known.fact.Tracked = job.PodUncounted, true, false
		}
	}
	if !l.c.spec.Deleting {
		l.checkCreates(plan)
	}
}

// conclude decides on all Pods that are left (parity 2.11).
func (l *ledger) conclude(plan job.Plan, verdict ruling) {
	for _, known := range l.open() {
		counts := verdict.interim == batchv1.JobFailureTarget && l.countable(known)
		switch {
		case known.fate != job.Undecided:
		case l.full && l.finished(known):
			known.asked = false
		case !counts:
			known.fate, known.asked = job.PodUncounted, false
		case l.counts == cut:
			l.full, known.asked = true, false
		case l.matching(known) == batchv1.PodFailurePolicyActionIgnore:
			known.fate, known.asked = job.PodIgnored, false
			l.counts++
			l.remembered[known.fact.UID] = true
		default:
			known.fate, known.asked = job.PodFailed, false
			l.failed++
			l.counts++
			l.remembered[known.fact.UID] = true
		}
		if deletes(plan, known.fact.UID) {
			known.fact.Deleting = true
		}
	}
}

// close forgets the Pods that are over.
func (l *ledger) close() {
	for _, known := range l.open() {
		fact := known.fact
		known.closed = known.fate != job.Undecided && (fact.Gone || fact.Disowned || fact.Ended() && !fact.Tracked)
	}
}

func (l *ledger) forgetBeyondCompletions() {
	if !l.c.indexed() {
		return
	}
	for _, known := range l.pods {
		// Its failures are forgotten with its index.
		l.clean = l.clean && (known.fact.Index == nil || *known.fact.Index < *l.c.spec.Completions)
	}
	for _, set := range []map[int32]bool{l.completed, l.failedIndexes} {
		for index := range set {
			if index >= *l.c.spec.Completions {
				delete(set, index)
				l.clean, l.inexact = false, true
			}
		}
	}
}

func (e *entry) active() bool { return !e.fact.Ended() && !e.fact.Deleting && !e.fact.Disowned }

func (e *entry) terminating() bool { return !e.fact.Ended() && e.fact.Deleting && !e.fact.Disowned }
