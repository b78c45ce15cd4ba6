package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/harness"
)

var (
	replaceFailed = harness.PodReplacementPolicy(batchv1.Failed)
	replaceAtOnce = harness.PodReplacementPolicy(batchv1.TerminatingOrFailed)
)

// podCases are about Pods that others delete or change, in every phase, and about
// podReplacementPolicy.
var podCases = []testCase{
	newCase("pod-deleted", endless(),
		running(1).then(deletePods(onePod)),
		counted(1, 0),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("pod-deleted-while-pending", endless(harness.PendingSeconds(3600)),
		pending(1).then(deletePods(onePod)), counted(1, 0), pending(1).and(failures(1))),
	newCase("pod-deleted-by-force", endless(), running(1).then(killPods(onePod)), counted(1, 0), running(1).and(failures(1))),
	newCase("pod-deleted-when-it-succeeded", endless(harness.Completions(2)),
		running(1).then(succeed(onePod)),
		running(1).and(successes(1)).then(deletePods(endedPods)),
		running(1).and(successes(1), podsAre(1)).lasting(2*time.Second).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("pod-deleted-when-it-failed", endless(),
		running(1).then(fail(1, onePod)),
		counted(1, 0).then(deletePods(endedPods)),
		counted(1, 0).and(podsAre(0)),
		running(1).and(failures(1)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("pod-deleted-one-failure-too-many", endless(harness.BackoffLimit(0), harness.Parallelism(2), harness.Completions(2)),
		running(2).then(deletePods(onePod)), finished(batchv1.JobFailed)),
	newCase("pods-deleted-after-the-end", endless(harness.Parallelism(2)),
		running(2).then(succeed(eachPod)),
		finished(batchv1.JobComplete).then(deletePods(endedPods)),
		finished(batchv1.JobComplete).and(podsAre(0)).lasting(2*time.Second)),
	newCase("pod-taken-away-uncounted", endless(),
		running(1).then(patchPods(onePod, `{"metadata":{"finalizers":null}}`), killPods(onePod)),
		running(1).and(made(2)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("pod-evicted", endless(), running(1).then(evict(onePod)), counted(1, 0), running(1).and(failures(1))),

	newCase("pod-succeeds-after-it-failed", endless(),
		running(1).then(fail(1, onePod)),
		counted(1, 0).then(becomes(corev1.PodSucceeded, endedPods)),
		running(1).and(failures(1), successes(0)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("pod-fails-after-it-succeeded", endless(harness.Completions(2)),
		running(1).then(succeed(onePod)),
		running(1).and(successes(1)).then(becomes(corev1.PodFailed, endedPods)),
		running(1).and(successes(1), failures(0)).lasting(2*time.Second).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("pod-of-unknown-phase", endless(),
		running(1).then(becomes(corev1.PodUnknown, onePod)),
		state("unknown", counts(1, 1, 0), unfinishedAre(1, corev1.PodUnknown)).lasting(2*time.Second).then(succeed(onePod)),
		finished(batchv1.JobComplete)),

	newCase("replaced-at-once", endless(harness.TerminationSeconds(25)),
		running(1).then(deletePods(onePod)),
		terminating(1).and(failures(1), untracked),
		state("1 running, 1 terminating", counts(1, 1, 1)),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("replaced-at-once-and-succeeds-late", endless(harness.TerminationSeconds(25)),
		running(1).then(deletePods(onePod)),
		terminating(1).and(failures(1), untracked).then(succeed(onePod)),
		running(1).and(failures(1), successes(0)).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("replaced-when-gone", endless(replaceFailed, harness.TerminationSeconds(8)),
		running(1).then(deletePods(onePod)),
		terminating(1).and(failures(0)),
		counted(1, 0),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("replaced-when-gone-but-succeeds", endless(replaceFailed, harness.TerminationSeconds(25)),
		running(1).then(deletePods(onePod)),
		terminating(1).and(failures(0)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("replacement-policy-edited", endless(replaceFailed, harness.TerminationSeconds(25)),
		running(1).then(deletePods(onePod)),
		terminating(1).and(failures(0)).then(patchJob(`{"spec":{"podReplacementPolicy":"TerminatingOrFailed"}}`)),
		terminating(1).and(failures(1), untracked),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("fewer-at-a-time-replaced-when-gone", endless(replaceFailed, harness.TerminationSeconds(8), harness.Parallelism(2),
		harness.Completions(2)),
		running(2).then(parallelism(1)),
		state("1 running, 1 terminating", counts(1, 1, 1)).then(parallelism(2)),
		running(2).and(made(3), failures(0)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-replaced-when-gone", endless(replaceFailed, harness.TerminationSeconds(8), harness.Indexed(2)),
		running(2).then(deletePods(index(0))),
		state("1 running, 1 terminating", counts(1, 1, 1), failures(0)),
		counted(1, 1),
		running(2).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
}
