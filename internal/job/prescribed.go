package job

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/names"
)

// Prescribed judges creates by the Job object, since anybody who may write to Temporal may have made them up. It returns
// why the Job prescribes no such Pods, or "". With count the object alone can't tell, and running Pods are to be counted
// (TooMany): it can for a Job that has no status yet where attempts, from which names are made, are no more than are to run, since there are no
// more names than that.
func Prescribed(object *batchv1.Job, creates []Create, now time.Time) (count bool, refusal string) {
	spec, status := SpecOf(object), object.Status
	if refusal := closedForCreates(spec, status, now); refusal != "" {
		return false, refusal
	}
	limit := spec.most(status)
	if len(creates) > limit {
		return false, fmt.Sprintf("the Job is to have %d Pods at a time, and %d were to be created", limit, len(creates))
	}
	// The first Pods of a Job are not counted. Beside those of one that was resumed a stranger may have had others made.
	count = HasStatus(status)
	over := ParseIndexes(status.CompletedIndexes).Union(ParseIndexes(ptr.Deref(status.FailedIndexes, "")))
	seen := map[string]bool{}
	for _, create := range creates {
		if refusal := spec.misnamed(object, create); refusal != "" {
			return false, refusal
		}
		if seen[create.Name] {
			return false, fmt.Sprintf("Pod %s was to be created twice", create.Name)
		}
		seen[create.Name] = true
		if create.Index != nil && over.Contains(*create.Index) {
			return false, fmt.Sprintf("index %d is over", *create.Index)
		}
		count = count || create.Index != nil || create.Attempt > int64(limit)
	}
	return count, ""
}

// most is how many Pods of a Job with this status are to run at a time, where new ones are made.
func (s Spec) most(status batchv1.JobStatus) int {
	succeeded := status.Succeeded
	if s.indexed() {
		// Of a Job that was scaled down status.succeeded may hold more (reportedSuccesses).
		succeeded = ParseIndexes(status.CompletedIndexes).Below(ptr.Deref(s.Completions, 0)).Len()
	}
	return int(s.wanted(succeeded, 0))
}

// closedForCreates says why the Job takes no Pods at all.
func closedForCreates(spec Spec, status batchv1.JobStatus, now time.Time) string {
	ended := firstTrue(status.Conditions, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet)
	switch {
	case ended != nil:
		return fmt.Sprintf("the Job is %s", ended.Type)
	case spec.Deleting:
		return "the Job is being deleted"
	case spec.Suspend:
		return "the Job is suspended"
	case spec.Stop != nil:
		return "the Job is stopped"
	}
	if deadline, ok := spec.deadline(ptr.Deref(status.StartTime, metav1.Time{}).Time); ok && !now.Before(deadline) {
		return "the Job was active longer than activeDeadlineSeconds"
	}
	return ""
}

// misnamed says why a create is none of the Job's.
func (s Spec) misnamed(object *batchv1.Job, create Create) string {
	name := ""
	switch {
	case create.Attempt < 1 || create.Failures < 0 || create.Ignored < 0:
		return fmt.Sprintf("Pod %.70q has no valid attempt", create.Name)
	case s.indexed() != (create.Index != nil):
		return fmt.Sprintf("Pod %.70q has an index where the Job's completionMode is %s", create.Name, s.CompletionMode)
	case create.Index == nil:
		name = names.Pod(object.Name, string(object.UID), create.Attempt)
	case *create.Index < 0 || s.Completions == nil || *create.Index >= *s.Completions:
		return fmt.Sprintf("index %d is none of the Job's", *create.Index)
	default:
		name = names.IndexedPod(object.Name, string(object.UID), *create.Index, create.Attempt)
	}
	if name != create.Name {
		return fmt.Sprintf("Pod %.70q has not the name of attempt %d, %s", create.Name, create.Attempt, name)
	}
	return ""
}

// TooMany says why creates would make more Pods than the Job is to have beside the running ones, in all or of an index. Where the
// replacement policy waits for the end of what is replaced, Pods that are being deleted are among those in all.
func TooMany(object *batchv1.Job, creates []Create, running []PodFact) string {
	limit := SpecOf(object).most(object.Status)
	total, byIndex := map[string]bool{}, map[int32]string{}
	for _, pod := range running {
		total[pod.Name] = true
		if pod.Index != nil && !pod.Deleting {
			byIndex[*pod.Index] = pod.Name
		}
	}
	for _, create := range creates {
		total[create.Name] = true
		if create.Index == nil {
			continue
		}
		if other, taken := byIndex[*create.Index]; taken && other != create.Name {
			return fmt.Sprintf("index %d has Pod %s, and %s was to be created", *create.Index, other, create.Name)
		}
		byIndex[*create.Index] = create.Name
	}
	if len(total) <= limit {
		return ""
	}
	return fmt.Sprintf("the Job is to have %d Pods at a time; with %d that were to be created there would be %d", limit, len(creates), len(total))
}

// DoneAlready says why creates would do work again that is done: done are the Job's Pods that have succeeded and are not counted yet.
func DoneAlready(object *batchv1.Job, creates []Create, done []PodFact) string {
	spec := SpecOf(object)
	if !spec.indexed() {
		if len(done) == 0 || spec.Completions == nil || int(object.Status.Succeeded)+len(done) < int(*spec.Completions) {
			return ""
		}
		return fmt.Sprintf("%d Pods have succeeded, as many as the Job needs", int(object.Status.Succeeded)+len(done))
	}
	for _, create := range creates {
		for _, pod := range done {
			if create.Index != nil && pod.Index != nil && *create.Index == *pod.Index {
				return fmt.Sprintf("index %d has succeeded by Pod %s, and %s was to be created", *create.Index, pod.Name, create.Name)
			}
		}
	}
	return ""
}
