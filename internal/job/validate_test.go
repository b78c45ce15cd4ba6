package job_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
)

// validateStatus applies the API server's rules for a Job status update (parity
// 2.17).
func validateStatus(old, updated batchv1.JobStatus, spec job.Spec) error {
	for _, rule := range statusRules {
		if rule.changed != nil && !rule.changed(old, updated) {
			continue
		}
		if !rule.holds(old, updated, spec) {
			return fmt.Errorf("%s: old %s, new %s", rule.name, describeStatus(old), describeStatus(updated))
		}
	}
	return nil
}

type statusRule struct {
	name string
	// changed limits the rule to updates that change the named things; nil means
	// every update.
	changed change
	holds   func(old, updated batchv1.JobStatus, spec job.Spec) bool
}

var statusRules = []statusRule{
	{"counters are not negative", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return s.Active >= 0 && s.Succeeded >= 0 && s.Failed >= 0 && number(s.Ready) >= 0 && number(s.Terminating) >= 0
	}},
	{"not SuccessCriteriaMet with Failed or FailureTarget", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobSuccessCriteriaMet) || !isTrue(s, batchv1.JobFailed) && !isTrue(s, batchv1.JobFailureTarget)
	}},
	{"a verdict is not taken back", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		for _, kind := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
			if isTrue(old, kind) && !isTrue(s, kind) {
				return false
			}
		}
		return true
	}},
	{"failed does not fall", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool { return s.Failed >= old.Failed }},
	{"succeeded does not fall but with an elastic Job", nil, func(old, s batchv1.JobStatus, spec job.Spec) bool {
		elastic := spec.CompletionMode == batchv1.IndexedCompletion && *spec.Completions == spec.Parallelism
		return s.Succeeded >= old.Succeeded || elastic
	}},
	{"uncounted Pods are named once", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		seen := map[types.UID]bool{"": true}
		for _, uid := range uncounted(s) {
			if seen[uid] {
				return false
			}
			seen[uid] = true
		}
		return true
	}},
	{"with a success policy Complete needs SuccessCriteriaMet", nil, func(_, s batchv1.JobStatus, spec job.Spec) bool {
		return !spec.HasSuccessPolicy || !isTrue(s, batchv1.JobComplete) || isTrue(s, batchv1.JobSuccessCriteriaMet)
	}},
	{"completionTime is immutable", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		return old.CompletionTime == nil || s.CompletionTime == nil || s.CompletionTime.Equal(old.CompletionTime)
	}},
	{"a Complete Job does not gain SuccessCriteriaMet", nil, func(old, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(old, batchv1.JobComplete) || isTrue(old, batchv1.JobSuccessCriteriaMet) == isTrue(s, batchv1.JobSuccessCriteriaMet)
	}},
	{"not Complete and Failed", either(batchv1.JobComplete, batchv1.JobFailed), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobComplete) || !isTrue(s, batchv1.JobFailed)
	}},
	{"not Complete with FailureTarget", either(batchv1.JobComplete, batchv1.JobFailureTarget), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobComplete) || !isTrue(s, batchv1.JobFailureTarget)
	}},
	{"Failed requires FailureTarget", anyOf(either(batchv1.JobFailed), failedIndexesChanged), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobFailed) || isTrue(s, batchv1.JobFailureTarget)
	}},
	{"Complete requires SuccessCriteriaMet", either(batchv1.JobComplete, batchv1.JobSuccessCriteriaMet), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !isTrue(s, batchv1.JobComplete) || isTrue(s, batchv1.JobSuccessCriteriaMet)
	}},
	{"finished means nothing active", finishedOr(func(s batchv1.JobStatus) any { return s.Active }), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !finished(s) || s.Active == 0
	}},
	{"finished means nothing terminating", finishedOr(func(s batchv1.JobStatus) any { return number(s.Terminating) }), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !finished(s) || number(s.Terminating) == 0
	}},
	{"finished means nothing uncounted", finishedOr(func(s batchv1.JobStatus) any { return fmt.Sprint(uncounted(s)) }), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return !finished(s) || len(uncounted(s)) == 0
	}},
	{"finished means started", finishedOr(func(s batchv1.JobStatus) any { return stamp(s.StartTime) }), func(_, s batchv1.JobStatus, spec job.Spec) bool {
		exempt := spec.Suspend && spec.Completions != nil && *spec.Completions == 0
		return !finished(s) || s.StartTime != nil || exempt
	}},
	{"startTime is immutable while not suspended", func(old, s batchv1.JobStatus) bool { return !s.StartTime.Equal(old.StartTime) },
		func(old, s batchv1.JobStatus, spec job.Spec) bool {
			resumed := isTrue(old, batchv1.JobSuspended) && !isTrue(s, batchv1.JobSuspended)
			return old.StartTime == nil || spec.Suspend || resumed
		}},
	{"completionTime is not before startTime", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return s.CompletionTime == nil || s.StartTime == nil || !s.CompletionTime.Before(s.StartTime)
	}},
	{"completionTime exactly when Complete", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return (s.CompletionTime != nil) == isTrue(s, batchv1.JobComplete)
	}},
	{"completedIndexes are well formed, and of an Indexed Job", completedIndexesChanged, func(_, s batchv1.JobStatus, spec job.Spec) bool {
		return s.CompletedIndexes == "" || spec.CompletionMode == batchv1.IndexedCompletion && wellFormed(s.CompletedIndexes, *spec.Completions)
	}},
	{"failedIndexes are well formed, and of a Job with backoffLimitPerIndex", failedIndexesChanged, func(_, s batchv1.JobStatus, spec job.Spec) bool {
		return s.FailedIndexes == nil || spec.BackoffLimitPerIndex != nil && (*s.FailedIndexes == "" || wellFormed(*s.FailedIndexes, *spec.Completions))
	}},
	{"no index is completed and failed", anyOf(completedIndexesChanged, failedIndexesChanged), func(_, s batchv1.JobStatus, _ job.Spec) bool {
		failed := setOf(dereference(s.FailedIndexes))
		for index := range setOf(s.CompletedIndexes) {
			if failed[index] {
				return false
			}
		}
		return true
	}},
	{"ready is at most active", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool { return number(s.Ready) <= s.Active }},
	{"times are whole seconds", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return (s.StartTime == nil || s.StartTime.Nanosecond() == 0) && (s.CompletionTime == nil || s.CompletionTime.Nanosecond() == 0)
	}},
	{"uncountedTerminatedPods is present, as upstream leaves it", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return s.UncountedTerminatedPods != nil && s.Terminating != nil
	}},
	{"ready is PodWatch's while Pods are active", nil, func(_, s batchv1.JobStatus, _ job.Spec) bool {
		return (s.Ready == nil) == (s.Active > 0)
	}},
	{"failedIndexes is there exactly with backoffLimitPerIndex, as upstream has it", nil, func(_, s batchv1.JobStatus, spec job.Spec) bool {
		return (s.FailedIndexes != nil) == (spec.BackoffLimitPerIndex != nil)
	}},
	{"an Indexed Job has succeeded as often as indexes are completed", nil, func(old, s batchv1.JobStatus, spec job.Spec) bool {
		return spec.CompletionMode != batchv1.IndexedCompletion || s.Succeeded == max(int32(len(setOf(s.CompletedIndexes))), heldBack(old, spec))
	}},
}

// heldBack is what status.succeeded may not fall below, although indexes were
// forgotten.
func heldBack(old batchv1.JobStatus, spec job.Spec) int32 {
	if *spec.Completions == spec.Parallelism {
		return 0
	}
	return old.Succeeded
}

func uncounted(s batchv1.JobStatus) []types.UID {
	if s.UncountedTerminatedPods == nil {
		return nil
	}
	return slices.Concat(s.UncountedTerminatedPods.Succeeded, s.UncountedTerminatedPods.Failed)
}

func completedIndexesChanged(old, updated batchv1.JobStatus) bool {
	return old.CompletedIndexes != updated.CompletedIndexes
}

func failedIndexesChanged(old, updated batchv1.JobStatus) bool {
	return dereference(old.FailedIndexes) != dereference(updated.FailedIndexes) || (old.FailedIndexes == nil) != (updated.FailedIndexes == nil)
}

// wellFormed reads a string of indexes as the API server does: strictly ascending,
// below the number of completions, "a-b" with a < b.
func wellFormed(text string, completions int32) bool {
	previous := -1
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil || first <= previous || first >= int(completions) {
			return false
		}
		previous = first
		if !ranged {
			continue
		}
		if previous, err = strconv.Atoi(high); err != nil || previous <= first || previous >= int(completions) {
			return false
		}
	}
	return true
}

type change func(old, updated batchv1.JobStatus) bool

func anyOf(changes ...change) change {
	return func(old, updated batchv1.JobStatus) bool {
		return slices.ContainsFunc(changes, func(changed change) bool { return changed(old, updated) })
	}
}

func either(kinds ...batchv1.JobConditionType) change {
	return func(old, updated batchv1.JobStatus) bool {
		return slices.ContainsFunc(kinds, func(kind batchv1.JobConditionType) bool { return isTrue(old, kind) != isTrue(updated, kind) })
	}
}

func finishedOr(value func(batchv1.JobStatus) any) change {
	return func(old, updated batchv1.JobStatus) bool {
		return finished(old) != finished(updated) || value(old) != value(updated)
	}
}

func isTrue(status batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == kind && condition.Status == corev1.ConditionTrue
	})
}

func finished(status batchv1.JobStatus) bool {
	return isTrue(status, batchv1.JobComplete) || isTrue(status, batchv1.JobFailed)
}

func number(value *int32) int32 {
	if value == nil {
		return 0
	}
	return *value
}

func stamp(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

func describeStatus(s batchv1.JobStatus) string {
	return fmt.Sprintf("{active %d ready %d terminating %d succeeded %d failed %d completed %q failed %q uncounted %v start %v end %v %s}",
		s.Active, number(s.Ready), number(s.Terminating), s.Succeeded, s.Failed, s.CompletedIndexes, dereference(s.FailedIndexes), uncounted(s),
		s.StartTime, s.CompletionTime, conditionsOf(s))
}

// conditionsOf lists the conditions in order as "Type=Status/Reason".
func conditionsOf(status batchv1.JobStatus) []string {
	list := []string{}
	for _, condition := range status.Conditions {
		text := string(condition.Type)
		if condition.Status != corev1.ConditionTrue {
			text += "=" + string(condition.Status)
		}
		list = append(list, text+"/"+condition.Reason)
	}
	return list
}
