package job_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// rule returns the verdict of parity 2.7 step 7, the one recorded first.
func (l *ledger) rule() ruling {
	spec, failure := l.c.spec, func(reason string) ruling { return ruling{batchv1.JobFailureTarget, reason} }
	if recorded := l.recorded(); recorded != (ruling{}) {
		return recorded
	}
	if l.decided != (ruling{}) {
		return l.decided
	}
	if l.failJob {
		return failure("PodFailurePolicy")
	}
	restarts := int32(0)
	for _, known := range l.open() {
		if known.fact.Disowned {
			continue
		}
		if phase := known.fact.Phase; !known.fact.Gone && (phase == corev1.PodRunning || phase == corev1.PodPending) {
			restarts += known.fact.Restarts
		}
	}
	restarting := spec.RestartPolicy == corev1.RestartPolicyOnFailure && restarts > 0 && restarts >= spec.BackoffLimit
	if l.failed > spec.BackoffLimit || restarting {
		return failure("BackoffLimitExceeded")
	}
	if spec.ActiveDeadlineSeconds != nil && !spec.Suspend {
		started := l.c.now.Truncate(time.Second)
		if l.status.StartTime != nil {
			started = l.status.StartTime.Time
		}
		if l.c.now.Sub(started) >= time.Duration(*spec.ActiveDeadlineSeconds)*time.Second {
			return failure("DeadlineExceeded")
		}
	}
	if spec.BackoffLimitPerIndex != nil && len(l.failedIndexes) > 0 {
		if spec.MaxFailedIndexes != nil && len(l.failedIndexes) > int(*spec.MaxFailedIndexes) {
			return failure("MaxFailedIndexesExceeded")
		}
		if len(l.failedIndexes)+len(l.completed) >= int(*spec.Completions) {
			return failure("FailedIndexes")
		}
	}
	if spec.Stop != nil && l.complete(job.Plan{}) == (ruling{}) {
		return failure("Stopped")
	}
	if l.c.policy != nil && slices.ContainsFunc(l.c.policy.Rules, l.satisfies) {
		return ruling{batchv1.JobSuccessCriteriaMet, "SuccessPolicy"}
	}
	return ruling{}
}

// recorded returns the verdict that the API server has, as far as the workflow knows.
func (l *ledger) recorded() ruling { return recordedVerdict(l.status) }

func recordedVerdict(status batchv1.JobStatus) ruling {
	for _, condition := range status.Conditions {
		interim := condition.Type == batchv1.JobSuccessCriteriaMet || condition.Type == batchv1.JobFailureTarget
		if interim && condition.Status == corev1.ConditionTrue {
			return ruling{condition.Type, condition.Reason}
		}
	}
	return ruling{}
}

func (l *ledger) satisfies(rule batchv1.SuccessPolicyRule) bool {
	if len(l.completed) == 0 {
		return false
	}
	if rule.SucceededIndexes == nil {
		return len(l.completed) >= int(*rule.SucceededCount)
	}
	wanted, met := 0, 0
	for index := range setOf(*rule.SucceededIndexes) {
		if index < *l.c.spec.Completions {
			wanted++
			if l.completed[index] {
				met++
			}
		}
	}
	return wanted > 0 && (met == wanted || rule.SucceededCount != nil && met >= int(*rule.SucceededCount))
}

// complete returns the verdict of parity 2.7 step 9.
func (l *ledger) complete(plan job.Plan) ruling {
	if l.full || len(plan.Creates) > 0 || len(l.which((*entry).active)) > 0 {
		return ruling{}
	}
	if completions := l.c.spec.Completions; completions == nil && l.succeeded == 0 || completions != nil && l.succeeded < *completions {
		return ruling{}
	}
	return ruling{batchv1.JobSuccessCriteriaMet, "CompletionsReached"}
}

// action is what podFailurePolicy says of a Pod, empty for nothing.
func (l *ledger) action(known *entry) batchv1.PodFailurePolicyAction {
	if known.fact.Phase != corev1.PodFailed {
		return ""
	}
	return l.matching(known)
}

// matching is the action of the rule that matches the Pod, whether or not it has ended.
func (l *ledger) matching(known *entry) batchv1.PodFailurePolicyAction {
	policy, fact := l.c.spec.PodFailurePolicy, known.fact
	if policy == nil {
		return ""
	}
	for _, rule := range policy.Rules {
		matches := false
		if codes := rule.OnExitCodes; codes != nil {
			for _, exit := range fact.Exits {
				named := codes.ContainerName == nil || *codes.ContainerName == exit.Container
				matches = matches || named && slices.Contains(codes.Values, exit.Code) == (codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn)
			}
		}
		for _, pattern := range rule.OnPodConditions {
			matches = matches || slices.Contains(fact.Conditions, string(pattern.Type)+"="+string(pattern.Status))
		}
		if matches {
			return rule.Action
		}
	}
	return ""
}

// want is how many Pods should be active (parity 2.10 b).
func (l *ledger) want() int {
	if l.c.spec.Completions == nil {
		if l.succeeded > 0 {
			return len(l.which((*entry).active))
		}
		return int(l.c.spec.Parallelism)
	}
	return int(min(max(*l.c.spec.Completions-l.succeeded, 0), l.c.spec.Parallelism))
}

func (l *ledger) which(match func(*entry) bool) []*entry {
	return slices.DeleteFunc(l.open(), func(known *entry) bool { return !match(known) })
}

// checkRemovals asserts that only surplus Pods are removed: all when suspended, and
// else those without a valid index of their own, and what is more than wanted.
func (l *ledger) checkRemovals(plan job.Plan) {
	again := func(pod *job.Pod) bool { return pod.Asked || pod.PendingFailed }
	l.c.t.Helper()
	active, removed, surplus := len(l.which((*entry).active)), 0, 0
	places, pendingFailed := map[int32]bool{}, false
	// Pods that wait for another delete are surplus first.
	waiting := 0
	for _, waits := range []bool{false, true} {
		for _, known := range l.which(func(known *entry) bool { return known.active() && l.waits(known) == waits }) {
			switch {
			case l.c.indexed() && (!l.validIndex(known.fact) || places[*known.fact.Index]):
				active--
				if !waits {
					surplus++
				}
				continue
			case l.c.indexed():
				places[*known.fact.Index] = true
			}
			if waits {
				waiting++
			}
		}
	}
	for _, deletion := range plan.Deletes {
		switch {
		case deletion.Release && l.pods[deletion.UID].active() && !again(find(l.c.state, deletion.UID)):
			removed++
		default:
			pendingFailed = true // or a delete is tried again
		}
	}
	surplus += max(active-l.want()-waiting, 0)
	if l.c.spec.Suspend || pendingFailed || l.full {
		surplus = 0 // They are terminated, or the next plan removes them.
	}
	surplus = min(surplus, cut)
	if removed != surplus {
		l.c.t.Fatalf("%d Pods are removed, %d are surplus of %d active with %d wanted", removed, surplus, active, l.want())
	}
}

// waits reports whether the Pod's delete has just failed.
func (l *ledger) waits(known *entry) bool {
	pod := find(l.c.state, known.fact.UID)
	return pod != nil && l.c.now.Before(pod.Retry.Until)
}

// checkCreates asserts that no Pod is asked for before its back-off is over, of an
// index that is over or taken, or with a wrong count of failures.
func (l *ledger) checkCreates(plan job.Plan) {
	l.c.t.Helper()
	if len(plan.Creates) == 0 {
		return
	}
	spec := l.c.spec
	if spec.BackoffLimitPerIndex == nil && l.c.now.Before(l.backoff.due()) {
		l.c.t.Fatalf("creates during back-off until %s", l.backoff.due())
	}
	inUse := len(l.which((*entry).active))
	if spec.PodReplacementPolicy == batchv1.Failed {
		inUse += len(l.which((*entry).terminating))
	}
	if inUse+len(plan.Creates) > l.want() {
		l.c.t.Fatalf("%d creates with %d Pods in use and %d wanted", len(plan.Creates), inUse, l.want())
	}
	for _, create := range plan.Creates {
		if create.Index == nil {
			continue
		}
		index, failed := *create.Index, int32(0)
		if index >= *spec.Completions || l.completed[index] || l.failedIndexes[index] {
			l.c.t.Fatalf("create %+v of index %d, which is over", create, index)
		}
		for _, known := range l.pods {
			switch fact := known.fact; {
			case fact.Index == nil || *fact.Index != index:
			case !known.closed && known.active():
				l.c.t.Fatalf("create %+v of index %d, which has Pod %s", create, index, fact.Name)
			case known.fate == job.PodFailed:
				failed++
			}
		}
		if spec.BackoffLimitPerIndex != nil && l.clean && create.Failures != failed {
			l.c.t.Fatalf("create %+v of an index with %d failures", create, failed)
		}
		if spec.BackoffLimitPerIndex != nil && l.clean && failed > *spec.BackoffLimitPerIndex {
			l.c.t.Fatalf("create %+v is attempt %d of an index with limit %d", create, failed+1, *spec.BackoffLimitPerIndex)
		}
	}
}

// compare asserts that the planner came to the same result.
func (l *ledger) compare(plan job.Plan, verdict ruling) {
	l.c.t.Helper()
	next := plan.Next
	if next.Succeeded != l.succeeded || next.Failed != l.failed {
		l.c.t.Fatalf("the planner counts %d succeeded and %d failed, the ledger %d and %d", next.Succeeded, next.Failed, l.succeeded, l.failed)
	}
	if l.c.indexed() {
		if want := (job.Indexes{}).With(slices.Sorted(maps.Keys(l.completed))...); !next.Completed.Equal(want) {
			l.c.t.Fatalf("the planner has completed indexes %q, the ledger %q", next.Completed, want)
		}
		if want := (job.Indexes{}).With(slices.Sorted(maps.Keys(l.failedIndexes))...); !next.FailedIndexes.Equal(want) {
			l.c.t.Fatalf("the planner has failed indexes %q, the ledger %q", next.FailedIndexes, want)
		}
	}
	if plan.Status != nil && recordedVerdict(*plan.Status) != verdict {
		l.c.t.Fatalf("the planner decides %v, the ledger %v", recordedVerdict(*plan.Status), verdict)
	}
	if failed := verdict.interim == batchv1.JobFailureTarget; !failed && l.failed > l.c.spec.BackoffLimit && verdict == (ruling{}) {
		l.c.t.Fatalf("%d Pods failed and the Job goes on with a limit of %d", l.failed, l.c.spec.BackoffLimit)
	}
	// Of a Pod that did not start in time, a plan that was forgotten and judged once more leaves evidence which the ledger has not.
	if kept := len(next.Evidence) + next.EvidenceOmitted; kept != len(l.remembered) && (kept < len(l.remembered) || !l.crashed) {
		l.c.t.Fatalf("there is evidence of %d Pods, %d failed", kept, len(l.remembered))
	}
}

// naiveBackoff is the record of parity 2.9.
type naiveBackoff struct {
	failures int
	last     time.Time
}

func (b *naiveBackoff) add(successes, failures []time.Time) {
	for _, success := range successes {
		b.failures, b.last = 0, time.Time{}
		failures = slices.DeleteFunc(failures, func(failure time.Time) bool { return !failure.After(success) })
	}
	for _, failure := range failures {
		b.failures++
		if failure.After(b.last) {
			b.last = failure
		}
	}
}

func (b *naiveBackoff) due() time.Time {
	delay := 5 * time.Second
	for range b.failures {
		delay = min(2*delay, 10*time.Minute)
	}
	return b.last.Add(delay)
}

// setOf reads a string of indexes without the code under test.
func setOf(text string) map[int32]bool {
	set := map[int32]bool{}
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil {
			continue
		}
		last := first
		if ranged {
			last, _ = strconv.Atoi(high)
		}
		for index := first; index <= last; index++ {
			set[int32(index)] = true
		}
	}
	return set
}

func dereference(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
