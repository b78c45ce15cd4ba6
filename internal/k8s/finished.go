package k8s

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// FinishedCondition returns the condition with which the Job ended, Complete or
// Failed, as a pointer into its status; nil while it has not. The conditions that
// come before these (SuccessCriteriaMet, FailureTarget) don't end a Job.
func FinishedCondition(job *batchv1.Job) *batchv1.JobCondition {
	index := slices.IndexFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) && condition.Status == corev1.ConditionTrue
	})
	if index < 0 {
		return nil
	}
	return &job.Status.Conditions[index]
}
