package jobs

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
)

func is(status batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	return conditionOf(status, kind) != nil
}

// conditionOf is a condition that is True; nil for none.
func conditionOf(status batchv1.JobStatus, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range status.Conditions {
		if one := &status.Conditions[i]; one.Type == kind && one.Status == corev1.ConditionTrue {
			return one
		}
	}
	return nil
}

func finished(status batchv1.JobStatus) bool {
	return is(status, batchv1.JobComplete) || is(status, batchv1.JobFailed)
}

// wrongStatus says why the API server refuses a status (parity 2.17); empty where it takes it.
func wrongStatus(stored *batchv1.Job, to batchv1.JobStatus) string {
	from := stored.Status
	elastic := job.SpecOf(stored).CompletionMode == batchv1.IndexedCompletion && ptr.Deref(stored.Spec.Completions, -1) == ptr.Deref(stored.Spec.Parallelism, -2)
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if is(from, kind) && !is(to, kind) {
			return fmt.Sprintf("%s was taken back", kind)
		}
	}
	completed, failed := job.ParseIndexes(to.CompletedIndexes), job.ParseIndexes(ptr.Deref(to.FailedIndexes, ""))
	switch {
	case is(to, batchv1.JobSuccessCriteriaMet) && (is(to, batchv1.JobFailed) || is(to, batchv1.JobFailureTarget)):
		return "SuccessCriteriaMet and Failed or FailureTarget"
	case is(to, batchv1.JobComplete) && (is(to, batchv1.JobFailed) || is(to, batchv1.JobFailureTarget)):
		return "Complete and Failed or FailureTarget"
	case is(to, batchv1.JobFailed) && !is(to, batchv1.JobFailureTarget):
		return "Failed without FailureTarget"
	case is(to, batchv1.JobComplete) && !is(to, batchv1.JobSuccessCriteriaMet):
		return "Complete without SuccessCriteriaMet"
	case to.Failed < from.Failed, to.Succeeded < from.Succeeded && !elastic:
		return fmt.Sprintf("succeeded and failed fall from %d and %d to %d and %d", from.Succeeded, from.Failed, to.Succeeded, to.Failed)
	case min(to.Active, to.Succeeded, to.Failed, ptr.Deref(to.Ready, 0), ptr.Deref(to.Terminating, 0)) < 0:
		return "a counter is negative"
	case ptr.Deref(to.Ready, 0) > to.Active:
		return "more Pods are ready than active"
	case finished(to) && (to.Active > 0 || ptr.Deref(to.Terminating, 0) > 0):
		return "a finished Job has active or terminating Pods"
	case finished(to) && to.StartTime == nil && !(ptr.Deref(stored.Spec.Suspend, false) && ptr.Deref(stored.Spec.Completions, 1) == 0):
		return "a finished Job has no startTime"
	case is(to, batchv1.JobComplete) != (to.CompletionTime != nil):
		return "completionTime is set without Complete, or not with it"
	case from.CompletionTime != nil && !from.CompletionTime.Equal(to.CompletionTime):
		return "completionTime changes"
	case to.CompletionTime != nil && to.StartTime != nil && to.CompletionTime.Before(to.StartTime):
		return "completionTime is before startTime"
	case startTimeChanges(stored, to):
		return "startTime changes"
	}
	for index := range ptr.Deref(stored.Spec.Completions, 0) {
		if completed.Contains(index) && failed.Contains(index) {
			return fmt.Sprintf("index %d is completed and failed", index)
		}
	}
	return ""
}

// startTimeChanges reports whether startTime changes though the Job is neither suspended nor resumed.
func startTimeChanges(stored *batchv1.Job, to batchv1.JobStatus) bool {
	from := stored.Status
	if from.StartTime == nil || from.StartTime.Equal(to.StartTime) || ptr.Deref(stored.Spec.Suspend, false) {
		return false
	}
	return !is(from, batchv1.JobSuspended) || is(to, batchv1.JobSuspended)
}
