package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/harness"
)

var onFailure = harness.RestartPolicy(corev1.RestartPolicyOnFailure)

// plainCases are about completions, parallelism, backoffLimit and restartPolicy of
// NonIndexed Jobs.
var plainCases = []testCase{
	newCase("succeeds", endless(), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("succeeds-at-once", harness.JobSpec(), finished(batchv1.JobComplete)),
	newCase("succeeds-by-twos", endless(harness.Parallelism(2), harness.Completions(3)),
		running(2).then(succeed(onePod)), running(2).and(successes(1)).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("more-parallelism-than-completions", endless(harness.Parallelism(5), harness.Completions(2)),
		running(2).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("nothing-to-do", harness.JobSpec(harness.Completions(0)), finished(batchv1.JobComplete)),
	newCase("nothing-to-do-in-parallel", harness.JobSpec(harness.Completions(0), harness.Parallelism(0)), finished(batchv1.JobComplete)),
	newCase("nobody-to-do-it", endless(harness.Parallelism(0), harness.Completions(1)),
		waiting().then(parallelism(1)), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),

	newCase("work-queue", endless(harness.Parallelism(3)),
		running(3).then(succeed(onePod)),
		running(2).and(successes(1)).then(fail(1, onePod)), // is not replaced: the queue is empty
		counted(1, 1).lasting(2*time.Second).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("work-queue-at-once", harness.JobSpec(harness.Parallelism(2), harness.RunSeconds(2)), finished(batchv1.JobComplete)),
	newCase("work-queue-fails-first", endless(harness.Parallelism(2)),
		running(2).then(fail(1, onePod)),
		counted(1, 1), // and is replaced
		running(2).then(succeed(onePod)),
		running(1).then(fail(1, onePod)),
		finished(batchv1.JobComplete).and(failures(2))),
	newCase("work-queue-edited", endless(harness.Parallelism(1)),
		running(1).then(parallelism(2)), running(2).then(parallelism(1)), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),

	newCase("fails", harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(0)), finished(batchv1.JobFailed)),
	newCase("fails-twice", harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(1)), counted(1, 0), finished(batchv1.JobFailed)),
	newCase("fails-while-others-run", endless(harness.Parallelism(2), harness.Completions(2), harness.BackoffLimit(0)),
		running(2).then(fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("fails-while-others-linger", endless(harness.Parallelism(3), harness.Completions(3), harness.BackoffLimit(0),
		harness.TerminationSeconds(8)),
		running(3).then(fail(1, onePod)),
		terminating(2).and(condition(batchv1.JobFailureTarget), untracked),
		finished(batchv1.JobFailed)),
	newCase("tries-again-after-ten-seconds", endless(),
		running(1).then(fail(1, onePod)), running(1).and(failures(1), newestAfter(harness.PodBackoff)).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("success-ends-the-back-off", endless(harness.Parallelism(2), harness.Completions(3)),
		running(2).then(fail(1, onePod)),
		counted(1, 1).then(aSecondLater, succeed(onePod)),
		running(2).and(within(beforeABackoff)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("back-off-limit-edited", endless(harness.BackoffLimit(1)),
		running(1).then(fail(1, onePod)),
		counted(1, 0).then(patchJob(`{"spec":{"backoffLimit":4}}`)),
		running(1).then(fail(1, onePod)),
		counted(2, 0).then(patchJob(`{"spec":{"backoffLimit":0}}`)),
		finished(batchv1.JobFailed)),

	newCase("restarts-in-place", harness.JobSpec(onFailure, harness.ExitCode(1), harness.PodAnnotation(node.AnnotationFailTimes, "2")),
		finished(batchv1.JobComplete)),
	newCase("restarts-too-often", harness.JobSpec(onFailure, harness.ExitCode(1), harness.BackoffLimit(2)), finished(batchv1.JobFailed)),
	newCase("restarts-once-too-often", harness.JobSpec(onFailure, harness.ExitCode(1), harness.BackoffLimit(0)),
		finished(batchv1.JobFailed)),
	newCase("restarts-of-all-count", harness.JobSpec(onFailure, harness.ExitCode(1), harness.BackoffLimit(3), harness.Parallelism(2),
		harness.Completions(2)),
		finished(batchv1.JobFailed)),

	newCase("fewer-at-a-time", endless(harness.Parallelism(3), harness.Completions(3)), running(3).then(parallelism(1)), running(1)),
	newCase("more-at-a-time", endless(harness.Completions(3)), running(1).then(parallelism(3)), running(3)),
	newCase("none-at-a-time", endless(harness.Parallelism(2), harness.Completions(2)),
		running(2).then(parallelism(0)), waiting(), state("none runs", unfinishedAre(0, corev1.PodRunning)).then(parallelism(2)), running(2)),
	newCase("unready-pods-go-first", endless(harness.Parallelism(3), harness.Completions(3)),
		running(3).then(mark(corev1.PodReady, corev1.ConditionFalse, onePod)),
		state("2 ready", counts(3, 2, 0)).then(parallelism(2)),
		running(2)),
	newCase("new-pods-go-first", endless(harness.Parallelism(1), harness.Completions(4)),
		running(1).then(aSecondLater, patchPods(onePod, `{"metadata":{"annotations":{"example.com/note":"first"}}}`), parallelism(3)),
		running(3).then(parallelism(1)),
		running(1)),
	newCase("condition-of-a-user", endless(),
		running(1).then(patchStatus(`{"conditions":[{"type":"example.com/Audited","status":"True","reason":"Test","message":"kept"}]}`)),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
}
