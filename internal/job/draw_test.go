package job_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

// oneIn draws true once in so many times; it shrinks to false.
func oneIn(t *rapid.T, count int, label string) bool {
	return rapid.IntRange(1, count).Draw(t, label) == count
}

// drawSpec draws a Spec that the API server accepts (parity 2.2).
func drawSpec(t *rapid.T) job.Spec {
	spec := job.Spec{
		Generation:           1,
		Parallelism:          rapid.Int32Range(0, 4).Draw(t, "parallelism"),
		CompletionMode:       batchv1.NonIndexedCompletion,
		BackoffLimit:         drawBackoffLimit(t),
		Suspend:              oneIn(t, 4, "suspend"),
		RestartPolicy:        rapid.SampledFrom([]corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}).Draw(t, "restartPolicy"),
		PodReplacementPolicy: rapid.SampledFrom([]batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed}).Draw(t, "podReplacementPolicy"),
	}
	if !oneIn(t, 5, "work queue") {
		spec.Completions = pointer(drawCompletions(t))
	}
	if oneIn(t, 4, "with deadline") {
		spec.ActiveDeadlineSeconds = pointer(rapid.Int64Range(0, 5000).Draw(t, "deadline"))
	}
	if oneIn(t, 4, "with pending deadline") {
		spec.PendingDeadlineSeconds = rapid.Int64Range(1, 1000).Draw(t, "pending deadline")
	}
	if rapid.Bool().Draw(t, "indexed") {
		drawIndexed(t, &spec)
	}
	if oneIn(t, 3, "with podFailurePolicy") {
		spec.RestartPolicy, spec.PodReplacementPolicy = corev1.RestartPolicyNever, batchv1.Failed
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batchv1.PodFailurePolicyRule {
			return drawFailureRule(t, spec.BackoffLimitPerIndex != nil)
		}), 0, 3).Draw(t, "failure rules")}
	}
	return spec
}

// drawCluster draws a Job that the API server accepts, with its success policy.
func drawCluster(t *rapid.T) *cluster {
	c := newCluster(t, drawSpec(t))
	if c.spec.HasSuccessPolicy {
		c.policy = &batchv1.SuccessPolicy{Rules: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batchv1.SuccessPolicyRule {
			return drawSuccessRule(t, *c.spec.Completions)
		}), 1, 2).Draw(t, "success rules")}
	}
	return c
}

// drawCompletions draws 0 rarely: nothing happens in such a Job.
func drawCompletions(t *rapid.T) int32 {
	if oneIn(t, 20, "no completions") {
		return 0
	}
	return rapid.Int32Range(1, 6).Draw(t, "completions")
}

// drawBackoffLimit draws a limit that is soon reached, or never.
func drawBackoffLimit(t *rapid.T) int32 {
	return rapid.SampledFrom([]int32{0, 1, 2, 6, 1000, 1000}).Draw(t, "backoffLimit")
}

func drawIndexed(t *rapid.T, spec *job.Spec) {
	spec.CompletionMode = batchv1.IndexedCompletion
	if spec.Completions == nil {
		spec.Completions = pointer(drawCompletions(t))
	}
	if rapid.Bool().Draw(t, "per index") {
		spec.BackoffLimitPerIndex = pointer(rapid.Int32Range(0, 2).Draw(t, "backoffLimitPerIndex"))
		if rapid.Bool().Draw(t, "limit of failed indexes") {
			spec.MaxFailedIndexes = pointer(rapid.Int32Range(0, *spec.Completions).Draw(t, "maxFailedIndexes"))
		}
	}
	if *spec.Completions > 0 && oneIn(t, 3, "with successPolicy") {
		spec.HasSuccessPolicy = true
	}
}

func drawFailureRule(t *rapid.T, perIndex bool) batchv1.PodFailurePolicyRule {
	actions := []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob,
	}
	if perIndex {
		actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
	}
	rule := batchv1.PodFailurePolicyRule{Action: rapid.SampledFrom(actions).Draw(t, "rule action")}
	if rapid.Bool().Draw(t, "by condition") {
		status := rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "condition status")
		rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: status}}
		return rule
	}
	rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: rapid.SampledFrom([]batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}).Draw(t, "operator"),
		Values:   rapid.SampledFrom([][]int32{{1}, {2}, {1, 2}, {137}}).Draw(t, "values"),
	}
	if rapid.Bool().Draw(t, "of one container") {
		rule.OnExitCodes.ContainerName = pointer("main")
	}
	return rule
}

func drawSuccessRule(t *rapid.T, completions int32) batchv1.SuccessPolicyRule {
	rule := batchv1.SuccessPolicyRule{}
	wanted := job.Indexes{}.With(rapid.SliceOfN(rapid.Int32Range(0, completions-1), 0, 3).Draw(t, "succeededIndexes")...)
	size := completions
	if !wanted.IsZero() {
		rule.SucceededIndexes, size = pointer(wanted.String()), wanted.Len()
	}
	if wanted.IsZero() || rapid.Bool().Draw(t, "with succeededCount") {
		rule.SucceededCount = pointer(rapid.Int32Range(0, size).Draw(t, "succeededCount"))
	}
	return rule
}

func drawExits(t *rapid.T) []job.Exit {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job.Exit {
		return job.Exit{
			Container: rapid.SampledFrom([]string{"main", "helper"}).Draw(t, "container"),
			Code:      rapid.SampledFrom([]int32{1, 2, 3}).Draw(t, "exit code"),
		}
	}), 0, 2).Draw(t, "exits")
}
