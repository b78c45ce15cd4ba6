package job

import (
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
)

// Bounds of a status that is written. etcd keeps every version of it for minutes.
const (
	// maxStatus bounds its JSON without the indexes, in bytes.
	maxStatus = 64 << 10
	// MaxStatusIndexes bounds completedIndexes and failedIndexes each: every second one of 100,000 takes 300 kB.
	MaxStatusIndexes = 512 << 10
	// MaxConditionText bounds the message of a condition, in bytes.
	MaxConditionText = 1024
)

// ConditionTypes are those that Ostinato writes to Jobs.
var ConditionTypes = []batchv1.JobConditionType{
	batchv1.JobSuspended, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
}

// Reasons of the condition Suspended, upstream's.
const (
	reasonSuspended = "JobSuspended"
	reasonResumed   = "JobResumed"
)

// ConditionReasons returns the reasons of a condition of Ostinato's; none for another.
func ConditionReasons(kind batchv1.JobConditionType) []string {
	switch kind {
	case batchv1.JobSuspended:
		return []string{reasonSuspended, reasonResumed, event.UnknownReason}
	case batchv1.JobSuccessCriteriaMet, batchv1.JobComplete:
		return []string{batchv1.JobReasonCompletionsReached, batchv1.JobReasonSuccessPolicy, event.UnknownReason}
	case batchv1.JobFailureTarget, batchv1.JobFailed:
		return []string{
			batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonDeadlineExceeded, batchv1.JobReasonFailedIndexes,
			batchv1.JobReasonMaxFailedIndexesExceeded, batchv1.JobReasonPodFailurePolicy, event.Stopped, event.UnknownReason,
		}
	}
	return nil
}

var conditionStatuses = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}

// ValidateStatus reports whether a status can be one that a plan writes, by what it consists of and how large it is:
// anybody who may write to Temporal may have asked for it. It does not say whether the status is true.
func ValidateStatus(status batchv1.JobStatus) error {
	if err := validateConditions(status.Conditions); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if noted := uncounted(status); noted > 0 {
		return fmt.Errorf("status: %d in uncountedTerminatedPods: Ostinato counts Pods at once", noted)
	}
	for _, text := range []string{status.CompletedIndexes, ptr.Deref(status.FailedIndexes, "")} {
		if len(text) > MaxStatusIndexes {
			return fmt.Errorf("status: indexes of %d bytes, want %d at most", len(text), MaxStatusIndexes)
		}
	}
	data, err := json.Marshal(withoutIndexes(status))
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if len(data) > maxStatus {
		return fmt.Errorf("status: %d bytes, want %d at most", len(data), maxStatus)
	}
	return nil
}

func validateConditions(conditions []batchv1.JobCondition) error {
	if len(conditions) > len(ConditionTypes) {
		return fmt.Errorf("%d conditions, want %d at most", len(conditions), len(ConditionTypes))
	}
	for i, condition := range conditions {
		switch {
		case !slices.Contains(ConditionTypes, condition.Type):
			return fmt.Errorf("a condition of type %.64q: Ostinato writes none", string(condition.Type))
		case conditionOf(conditions[:i], condition.Type) != nil:
			return fmt.Errorf("the condition %s twice", condition.Type)
		case !slices.Contains(conditionStatuses, condition.Status):
			return fmt.Errorf("the condition %s has the status %.64q", condition.Type, string(condition.Status))
		case !slices.Contains(ConditionReasons(condition.Type), condition.Reason):
			return fmt.Errorf("the condition %s has the reason %.64q: Ostinato writes none", condition.Type, condition.Reason)
		case len(condition.Message) > MaxConditionText:
			return fmt.Errorf("the condition %s has a message of %d bytes, want %d at most", condition.Type, len(condition.Message), MaxConditionText)
		}
	}
	return nil
}

// takenConditions are the conditions of a Job that are Ostinato's, as a plan may write them again. Every writer of the
// Job's status may have written them, and Kubernetes never takes some of them back.
func takenConditions(conditions []batchv1.JobCondition) []batchv1.JobCondition {
	var taken []batchv1.JobCondition
	for _, condition := range conditions {
		if !slices.Contains(ConditionTypes, condition.Type) || conditionOf(taken, condition.Type) != nil || !slices.Contains(conditionStatuses, condition.Status) {
			continue
		}
		if !slices.Contains(ConditionReasons(condition.Type), condition.Reason) {
			if condition.Reason != "" {
				condition.Message = condition.Reason + ": " + condition.Message
			}
			condition.Reason = event.UnknownReason
		}
		condition.Message = clip.Text(condition.Message, MaxConditionText)
		taken = append(taken, condition)
	}
	return taken
}
