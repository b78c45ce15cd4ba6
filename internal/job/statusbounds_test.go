package job_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
)

func TestStatusesThatNoPlanWrites(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, reason, message string) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}}}
	}
	suspended := condition(batchv1.JobSuspended, "JobSuspended", "Job suspended")
	for name, test := range map[string]struct {
		status batchv1.JobStatus
		want   string
	}{
		"nothing":                     {},
		"an end":                      {status: condition(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")},
		"every second of 100,000":     {status: batchv1.JobStatus{CompletedIndexes: everySecond(100_000)}},
		"a condition of another":      {condition("evil.example/x", "", ""), "evil.example/x"},
		"a long message":              {condition(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, strings.Repeat("x", 1025)), "1025 bytes, want 1024 at most"},
		"a reason of another type":    {condition(batchv1.JobFailed, batchv1.JobReasonSuccessPolicy, ""), `Failed has the reason "SuccessPolicy"`},
		"a reason that is none":       {condition(batchv1.JobFailureTarget, "Evil", ""), `FailureTarget has the reason "Evil"`},
		"no reason":                   {condition(batchv1.JobComplete, "", ""), `Complete has the reason ""`},
		"a status that is none":       {batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "Maybe"}}}, `Failed has the status "Maybe"`},
		"one condition twice":         {batchv1.JobStatus{Conditions: slices.Repeat(suspended.Conditions, 2)}, "Suspended twice"},
		"many conditions":             {batchv1.JobStatus{Conditions: make([]batchv1.JobCondition, 6)}, "6 conditions"},
		"long completed indexes":      {batchv1.JobStatus{CompletedIndexes: strings.Repeat("1,", 400_000)}, "indexes of 800000 bytes"},
		"long failed indexes":         {batchv1.JobStatus{FailedIndexes: ptr.To(strings.Repeat("1,", 400_000))}, "indexes of 800000 bytes"},
		"Pods that are counted later": {batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}}, "1 in uncountedTerminatedPods"},
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

// TestConditionsThatNoPlanWritesHoldNoJobUp: somebody else has written them to the Job, where they are taken over.
func TestConditionsThatNoPlanWritesHoldNoJobUp(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, reason, message string) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message}
	}
	long := strings.Repeat("€", 1000)
	for name, test := range map[string]struct {
		conditions []batchv1.JobCondition
		outcome    job.Outcome
		// reason and message are those of the end.
		reason, message string
	}{
		"a failure for a reason of one's own": {
			[]batchv1.JobCondition{condition(batchv1.JobFailureTarget, "Evil", "why")}, job.Failed, event.UnknownReason, "Evil: why",
		},
		"a failure for a reason of success": {
			[]batchv1.JobCondition{condition(batchv1.JobFailureTarget, batchv1.JobReasonSuccessPolicy, "why")}, job.Failed, event.UnknownReason, "SuccessPolicy: why",
		},
		"a failure without a reason": {
			[]batchv1.JobCondition{condition(batchv1.JobFailureTarget, "", "why")}, job.Failed, event.UnknownReason, "why",
		},
		"a failure with a long message": {
			[]batchv1.JobCondition{condition(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, long)}, job.Failed, batchv1.JobReasonDeadlineExceeded, long[:1020] + "...",
		},
		"a success for a reason of one's own": {
			[]batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet, "Evil", "why")}, job.Complete, event.UnknownReason, "Evil: why",
		},
		"one type many times": {
			slices.Repeat([]batchv1.JobCondition{condition(batchv1.JobSuspended, "JobSuspended", "")}, 5), job.Complete, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods",
		},
		"a status that is none": {
			[]batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: "Evil"}}, job.Complete, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, specOf(1, 1)).settle()
			c.refuseStatus, c.reread = 1, true
			c.status.Conditions = test.conditions
			c.succeed(1).deliver().settle().pass(time.Second).settle().deliver().settle()
			if c.finished == nil {
				t.Fatalf("the Job has not ended: %s", c.waiting)
			}
			equal(t, "outcome", c.finished.Outcome, test.outcome)
			equal(t, "reason", c.finished.Reason, test.reason)
			equal(t, "message", c.finished.Message, test.message)
		})
	}
}

func everySecond(completions int32) string {
	var indexes []int32
	for index := int32(0); index < completions; index += 2 {
		indexes = append(indexes, index)
	}
	return job.Indexes{}.With(indexes...).String()
}
