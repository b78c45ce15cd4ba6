package job

import (
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// Bounds of a status that is written. etcd keeps every version of it for minutes.
const (
	// maxStatus bounds its JSON without the indexes, in bytes.
	maxStatus = 64 << 10
	// MaxStatusIndexes bounds completedIndexes and failedIndexes each, in bytes: every second
	// one of 100,000 takes 300 kB.
	MaxStatusIndexes = 512 << 10
	// MaxConditionText bounds the reason and the message of a condition, in bytes.
	MaxConditionText = 1024
)

// ConditionTypes are those that Ostinato writes to Jobs.
var ConditionTypes = []batchv1.JobConditionType{
	batchv1.JobSuspended, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
}

// ValidateStatus reports whether a status can be one that a plan writes, by what it consists
// of and how large it is: anybody who may write to Temporal may have asked for it. It does
// not say whether the status is true.
func ValidateStatus(status batchv1.JobStatus) error {
	if len(status.Conditions) > len(ConditionTypes) {
		return fmt.Errorf("status: %d conditions, want %d at most", len(status.Conditions), len(ConditionTypes))
	}
	for _, condition := range status.Conditions {
		if !slices.Contains(ConditionTypes, condition.Type) {
			return fmt.Errorf("status: a condition of type %.64q: Ostinato writes none", string(condition.Type))
		}
		if len(condition.Reason) > MaxConditionText || len(condition.Message) > MaxConditionText {
			return fmt.Errorf("status: the condition %s has a reason of %d and a message of %d bytes, want %d at most",
				condition.Type, len(condition.Reason), len(condition.Message), MaxConditionText)
		}
	}
	indexes := []string{status.CompletedIndexes}
	if status.FailedIndexes != nil {
		indexes = append(indexes, *status.FailedIndexes)
	}
	for _, text := range indexes {
		if len(text) > MaxStatusIndexes {
			return fmt.Errorf("status: indexes of %d bytes, want %d at most", len(text), MaxStatusIndexes)
		}
	}
	status.CompletedIndexes, status.FailedIndexes = "", nil
	data, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if len(data) > maxStatus {
		return fmt.Errorf("status: %d bytes, want %d at most", len(data), maxStatus)
	}
	return nil
}
