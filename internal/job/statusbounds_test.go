package job_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
)

func TestStatusesThatNoPlanWrites(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, reason, message string) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Reason: reason, Message: message}}}
	}
	for name, test := range map[string]struct {
		status batchv1.JobStatus
		want   string
	}{
		"nothing":                       {},
		"an end":                        {status: condition(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")},
		"every second of 100,000":       {status: batchv1.JobStatus{CompletedIndexes: everySecond(100_000)}},
		"a condition of another":        {condition("evil.example/x", "", ""), "evil.example/x"},
		"a long message":                {condition(batchv1.JobFailed, "", strings.Repeat("x", 1025)), "1025 bytes, want 1024 at most"},
		"a long reason":                 {condition(batchv1.JobFailed, strings.Repeat("x", 1025), ""), "reason of 1025"},
		"many conditions":               {batchv1.JobStatus{Conditions: make([]batchv1.JobCondition, 6)}, "6 conditions"},
		"long completed indexes":        {batchv1.JobStatus{CompletedIndexes: strings.Repeat("1,", 400_000)}, "indexes of 800000 bytes"},
		"long failed indexes":           {batchv1.JobStatus{FailedIndexes: ptr.To(strings.Repeat("1,", 400_000))}, "indexes of 800000 bytes"},
		"what only another would write": {batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: make([]types.UID, 50_000)}}, "want 65536 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			err := job.ValidateStatus(test.status)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func everySecond(completions int32) string {
	var indexes []int32
	for index := int32(0); index < completions; index += 2 {
		indexes = append(indexes, index)
	}
	return job.NewIndexes(indexes...).String()
}
