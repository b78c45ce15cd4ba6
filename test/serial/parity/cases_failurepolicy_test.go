package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	failJob   = batchv1.PodFailurePolicyActionFailJob
	failIndex = batchv1.PodFailurePolicyActionFailIndex
	ignore    = batchv1.PodFailurePolicyActionIgnore
	count     = batchv1.PodFailurePolicyActionCount
	in        = batchv1.PodFailurePolicyOnExitCodesOpIn
	notIn     = batchv1.PodFailurePolicyOnExitCodesOpNotIn
)

// example is a condition that nothing but a case sets.
const example corev1.PodConditionType = "example.com/Broken"

// onDisruption is a rule for Pods that were evicted, preempted or drained.
func onDisruption(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
	return harness.OnPodCondition(action, corev1.DisruptionTarget, corev1.ConditionTrue)
}

// failurePolicyCases are about podFailurePolicy.
var failurePolicyCases = []testCase{
	newCase("policy-fails-the-job", endless(harness.Parallelism(2), harness.Completions(2),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 3, 42))),
		running(2).then(fail(42, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-fails-the-job-while-others-linger", endless(harness.Parallelism(2), harness.TerminationSeconds(8),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 42))),
		running(2).then(fail(42, onePod)), terminating(1).and(condition(batchv1.JobFailureTarget), untracked), finished(batchv1.JobFailed)),
	newCase("policy-not-in", endless(harness.PodFailurePolicy(harness.OnExitCodes(failJob, notIn, 3, 42))),
		running(1).then(fail(4, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-not-in-does-not-match", endless(harness.BackoffLimit(0),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, notIn, 3, 42))),
		running(1).then(fail(42, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-not-in-one-of-two", endless(harness.Container("side"),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, notIn, 3))),
		running(1).then(failContainer("side", 9, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-without-match", endless(harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 42))),
		running(1).then(fail(1, onePod)), counted(1, 0), running(1).and(failures(1)).then(fail(42, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-without-rules", endless(harness.BackoffLimit(0), harness.PodFailurePolicy()),
		running(1).then(fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-of-one-container", endless(harness.Container("side"),
		harness.PodFailurePolicy(harness.OnExitCodesOf("side", failJob, in, 42))),
		running(1).then(failContainer("main", 42, onePod)),
		counted(1, 0),
		running(1).then(failContainer("side", 42, onePod)),
		finished(batchv1.JobFailed)),
	newCase("policy-of-an-init-container", endless(harness.InitContainer("first"),
		harness.PodFailurePolicy(harness.OnExitCodesOf("first", failJob, in, 42))),
		running(1).then(failContainer("first", 42, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-of-any-container", endless(harness.InitContainer("first"), harness.Container("side"),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 42))),
		running(1).then(failContainer("first", 42, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-ignores", endless(harness.BackoffLimit(0), harness.PodFailurePolicy(harness.OnExitCodes(ignore, in, 42))),
		running(1).then(fail(42, onePod)),
		running(1).and(made(2), failures(0), newestAfter(harness.PodBackoff)).then(fail(1, onePod)),
		finished(batchv1.JobFailed)),
	newCase("policy-ignores-an-indexed-one", endless(harness.Indexed(2), harness.BackoffLimit(0),
		harness.PodFailurePolicy(harness.OnExitCodes(ignore, in, 42))),
		running(2).then(fail(42, index(1))), running(2).and(made(3), failures(0)).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("policy-first-rule-wins", endless(harness.BackoffLimit(0),
		harness.PodFailurePolicy(harness.OnExitCodes(count, in, 42), harness.OnExitCodes(failJob, in, 42))),
		running(1).then(fail(42, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-second-rule", endless(harness.PodFailurePolicy(harness.OnExitCodes(ignore, in, 42), harness.OnPodCondition(failJob, example, corev1.ConditionTrue))),
		running(1).then(mark(example, corev1.ConditionTrue, onePod), fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-condition-of-a-running-pod", endless(harness.PodFailurePolicy(harness.OnPodCondition(failJob, example, corev1.ConditionTrue))),
		running(1).then(mark(example, corev1.ConditionTrue, onePod)),
		running(1).lasting(2*time.Second).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("policy-condition-of-another-status", endless(harness.BackoffLimit(0),
		harness.PodFailurePolicy(harness.OnPodCondition(failJob, example, corev1.ConditionTrue))),
		running(1).then(mark(example, corev1.ConditionFalse, onePod), fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-condition-false", endless(harness.PodFailurePolicy(harness.OnPodCondition(failJob, example, corev1.ConditionFalse))),
		running(1).then(mark(example, corev1.ConditionFalse, onePod), fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-condition-defaults-to-true", endless(harness.PodFailurePolicy(harness.OnPodCondition(failJob, example, ""))),
		running(1).then(mark(example, corev1.ConditionTrue, onePod), fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("policy-ignores-evictions", endless(harness.BackoffLimit(0),
		harness.PodFailurePolicy(onDisruption(ignore))),
		running(1).then(evict(onePod)), running(1).and(made(2), failures(0)).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("policy-ignores-disrupted-pods", endless(harness.BackoffLimit(0),
		harness.PodFailurePolicy(onDisruption(ignore))),
		running(1).then(mark(corev1.DisruptionTarget, corev1.ConditionTrue, onePod), fail(137, onePod)),
		running(1).and(made(2), failures(0)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("policy-fails-the-job-on-eviction", endless(harness.PodFailurePolicy(onDisruption(failJob))),
		running(1).then(evict(onePod)), finished(batchv1.JobFailed)),
	newCase("policy-ignores-deleted-pods", endless(harness.BackoffLimit(0), harness.TerminationSeconds(8),
		harness.PodFailurePolicy(harness.OnExitCodes(ignore, in, 143))),
		running(1).then(deletePods(onePod)),
		terminating(1).and(failures(0)),
		running(1).and(made(2), failures(0)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("policy-fails-the-job-of-deleted-pods", endless(harness.TerminationSeconds(8),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 143))),
		running(1).then(deletePods(onePod)), terminating(1).and(noCondition(batchv1.JobFailureTarget)), finished(batchv1.JobFailed)),
}
