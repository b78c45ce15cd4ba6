package bridge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

func trimmedJob(t *testing.T, whole *batchv1.Job) *batchv1.Job {
	t.Helper()
	trimmed, err := ownership{}.trimJob(whole)
	require.NoError(t, err)
	return trimmed.(*batchv1.Job)
}

// Whoever may create Jobs may write more than a megabyte into one.
func TestTrimmedJobsAreSmall(t *testing.T) {
	long := strings.Repeat("1,", 32<<10)
	whole := run("r1", func(j *batchv1.Job) {
		j.OwnerReferences[0].Name, j.OwnerReferences[0].UID = long, types.UID(long)
		for _, annotation := range append(settingAnnotations, names.ScheduledTimestampAnnotation, names.InstantiateAnnotation) {
			j.Annotations[annotation] = long
		}
		j.Spec.Template.Annotations = map[string]string{names.BackoffCapAnnotation: long}
		j.Spec.SuccessPolicy, j.Spec.PodFailurePolicy = &batchv1.SuccessPolicy{}, &batchv1.PodFailurePolicy{}
		for i := range 20 {
			j.Spec.SuccessPolicy.Rules = append(j.Spec.SuccessPolicy.Rules, batchv1.SuccessPolicyRule{SucceededIndexes: &long})
			rule := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore}
			for range 20 {
				rule.OnPodConditions = append(rule.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{
					Type: corev1.PodConditionType(fmt.Sprintf("%0253d/x", i)), Status: corev1.ConditionTrue,
				})
			}
			j.Spec.PodFailurePolicy.Rules = append(j.Spec.PodFailurePolicy.Rules, rule)
		}
		j.Status.CompletedIndexes, j.Status.FailedIndexes = long, &long
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{types.UID(long)}}
		j.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Message: long}, {Type: "example.com/other", Message: long},
		}
	})
	trimmed := trimmedJob(t, whole)
	assert.Less(t, trimmed.Size(), 4<<10)
	assert.True(t, job.SpecOf(trimmed).HasSuccessPolicy)
	assert.NotEqual(t, job.SpecOf(whole).Digest(), job.SpecOf(trimmed).Digest(), "who plans without the rules is found out")
	assert.Len(t, trimmed.Status.Conditions, 1)
	assert.Equal(t, job.SpecOf(whole).Mistakes, job.SpecOf(trimmed).Mistakes)
}

// What a stop says is longer than other settings. The workflow of a Job that is stopped before it has one begins with it.
func TestAStopIsKeptAsItIsRead(t *testing.T) {
	for _, value := range []string{
		"", "it hangs", "it hangs: " + strings.Repeat("the lock of the night before was never released ", 3),
		job.Stop{By: "ada", Note: "it waits for a lock that the run of yesterday holds, see OPS-1234"}.Annotation(), `{"by": 7}`,
		strings.Repeat("é", 100_000),
	} {
		whole := run("r1", func(j *batchv1.Job) { j.Annotations[names.StopAnnotation] = value })
		assert.Equal(t, job.SpecOf(whole).Stop, job.SpecOf(trimmedJob(t, whole)).Stop)
	}
}

// The API server takes a schedule and annotations of any length.
func TestTrimmedNativeCronJobsAreSmall(t *testing.T) {
	long := strings.Repeat("1,", 64<<10)
	whole := native(func(n *batchv1.CronJob) {
		n.Spec.Schedule, n.Spec.TimeZone = long, &long
		n.Annotations = map[string]string{"example.com/other": long}
		for _, annotation := range []string{
			names.ScheduledTimeVariableAnnotation, names.WorkflowAnnotation, names.NextScheduleTimeAnnotation, names.ObservedGenerationAnnotation, names.AcceptSignalsAnnotation,
		} {
			n.Annotations[annotation] = long
		}
		n.Annotations[names.WorkflowAnnotation] = long + "/" + long
		n.Spec.JobTemplate.Annotations = map[string]string{"example.com/other": long}
	})
	trimmed, err := trimNativeCronJob(whole)
	require.NoError(t, err)
	data, err := json.Marshal(trimmed)
	require.NoError(t, err)
	assert.Less(t, len(data), 4<<10)
	// Who plans by the one and who plans by the other plan for the same CronJob, which is refused.
	spec := schedule.SpecOf(trimmed.(*ostinatov1.CronJob))
	assert.Equal(t, schedule.SpecOf(k8s.FromNative(whole)).Digest(), spec.Digest())
	_, problem := times.Parse(spec.Schedule, nil)
	assert.Equal(t, times.UnparseableSchedule, problem.Reason)
	_, problem = times.Parse("@daily", spec.TimeZone)
	assert.Equal(t, times.UnknownTimeZone, problem.Reason)
}

// What people write is kept: the workflow's input is what an activity would read.
func TestTrimmedJobsPlanTheSame(t *testing.T) {
	whole := run("r1", func(j *batchv1.Job) {
		j.Annotations[names.BackoffBaseAnnotation] = "5"
		j.Spec.Completions, j.Spec.CompletionMode = ptr.To[int32](4), ptr.To(batchv1.IndexedCompletion)
		j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To[int32](1)}}}
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1, 42},
			},
		}}}
	})
	assert.Equal(t, job.SpecOf(whole), job.SpecOf(trimmedJob(t, whole)))
}
