package k8s_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/k8s"
)

func TestFinishedCondition(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: status, Reason: "for " + string(kind)}
	}
	tests := map[string]struct {
		conditions []batchv1.JobCondition
		// want is the index of the condition, -1 for none.
		want int
	}{
		"no condition": {want: -1},
		"about to end": {conditions: []batchv1.JobCondition{
			condition(batchv1.JobFailureTarget, corev1.ConditionTrue), condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue),
			condition(batchv1.JobSuspended, corev1.ConditionTrue),
		}, want: -1},
		"not true": {conditions: []batchv1.JobCondition{
			condition(batchv1.JobComplete, corev1.ConditionFalse), condition(batchv1.JobFailed, corev1.ConditionUnknown),
		}, want: -1},
		"complete": {conditions: []batchv1.JobCondition{
			condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue), condition(batchv1.JobComplete, corev1.ConditionTrue),
		}, want: 1},
		"failed": {conditions: []batchv1.JobCondition{
			condition(batchv1.JobFailed, corev1.ConditionTrue), condition(batchv1.JobFailureTarget, corev1.ConditionTrue),
		}, want: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: test.conditions}}
			got := k8s.FinishedCondition(job)
			if test.want < 0 {
				assert.Nil(t, got)
				return
			}
			assert.Same(t, &job.Status.Conditions[test.want], got)
		})
	}
}
