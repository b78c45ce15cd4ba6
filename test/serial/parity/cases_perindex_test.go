package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// perIndexCases are about backoffLimitPerIndex, maxFailedIndexes and FailIndex.
var perIndexCases = []testCase{
	newCase("per-index-succeeds", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(1)),
		running(2).and(failed("")).then(succeed(eachPod)), finished(batchv1.JobComplete).and(failed(""))),
	newCase("per-index-fails-at-once", endless(harness.Indexed(4), harness.BackoffLimitPerIndex(0)),
		running(4).then(fail(1, index(1, 2))),
		running(2).and(failed("1,2")).then(succeed(index(0))),
		running(1).and(completed("0")).then(succeed(index(3))),
		finished(batchv1.JobFailed)),
	newCase("per-index-intervals", endless(harness.Indexed(7), harness.BackoffLimitPerIndex(0)),
		running(7).then(fail(1, index(0, 2, 3, 4, 6))),
		running(2).and(failed("0,2-4,6")).then(fail(1, index(5))),
		running(1).and(failed("0,2-6")).then(succeed(eachPod)),
		finished(batchv1.JobFailed)),
	newCase("per-index-last-one-fails", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(0)),
		running(2).then(succeed(index(0))), running(1).then(fail(1, index(1))), finished(batchv1.JobFailed)),
	newCase("per-index-attempts", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(1)),
		running(2).then(fail(1, index(0))),
		running(2).and(failures(1), newestAfter(harness.PodBackoff)).then(fail(1, index(0))), // a count of 1 on its annotation
		running(1).and(failed("0")).then(succeed(index(1))),
		finished(batchv1.JobFailed)),
	newCase("per-index-waits-in-line", endless(harness.Indexed(3), harness.Parallelism(2), harness.BackoffLimitPerIndex(1)),
		running(2).then(fail(1, index(0))),
		state("index 0 waits", failedPodsAre(1)).differs("an index in back-off holds a place of upstream's parallelism; with Ostinato index 2 starts").then(succeed(index(1))),
		running(2).and(completed("1"), newestAfter(5*time.Second)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("per-index-and-of-all", endless(harness.Indexed(3), harness.BackoffLimitPerIndex(0), harness.BackoffLimit(1)),
		running(3).then(fail(1, index(0))), running(2).and(failed("0")).then(fail(1, index(1))), finished(batchv1.JobFailed)),
	newCase("per-index-pod-deleted", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(1)),
		running(2).then(deletePods(index(1))),
		running(2).and(failures(1)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("per-index-suspended", endless(harness.Indexed(3), harness.BackoffLimitPerIndex(0)),
		running(3).then(fail(1, index(1))),
		running(2).and(failed("1")).then(suspend(true)),
		suspendedNow().and(failed("1")).then(suspend(false)),
		running(2).and(failed("1")).then(succeed(eachPod)),
		finished(batchv1.JobFailed)),
	newCase("per-index-elastic", endless(harness.Indexed(3), harness.BackoffLimitPerIndex(0)),
		running(3).then(fail(1, index(2))),
		running(2).and(failed("2")).then(elastic(2)),
		running(2).and(failed("")).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("per-index-nothing-to-do", harness.JobSpec(harness.Indexed(0), harness.BackoffLimitPerIndex(1)), finished(batchv1.JobComplete)),

	newCase("max-failed-indexes", endless(harness.Indexed(4), harness.BackoffLimitPerIndex(0), harness.MaxFailedIndexes(1)),
		running(4).then(fail(1, index(3))), running(3).and(failed("3")).then(fail(1, index(0))), finished(batchv1.JobFailed)),
	newCase("max-failed-indexes-none", endless(harness.Indexed(3), harness.BackoffLimitPerIndex(0), harness.MaxFailedIndexes(0)),
		running(3).then(succeed(index(0))), running(2).and(completed("0")).then(fail(1, index(1))), finished(batchv1.JobFailed)),
	newCase("max-failed-indexes-lowered", endless(harness.Indexed(3), harness.BackoffLimitPerIndex(0), harness.MaxFailedIndexes(3)),
		running(3).then(fail(1, index(0))),
		running(2).and(failed("0")).then(fail(1, index(1))),
		running(1).and(failed("0,1")).then(patchJob(`{"spec":{"maxFailedIndexes":1}}`)),
		finished(batchv1.JobFailed)),
	newCase("max-failed-indexes-not-reached", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(0), harness.MaxFailedIndexes(1)),
		running(2).then(fail(1, index(0))), running(1).and(failed("0")).then(succeed(index(1))), finished(batchv1.JobFailed)),

	newCase("fail-index", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(3),
		harness.PodFailurePolicy(harness.OnExitCodes(failIndex, in, 42))),
		running(2).then(fail(42, index(0))),
		running(1).and(failed("0"), within(beforeABackoff)).then(fail(1, index(1))), // which is tried again
		running(1).and(failures(2), newestAfter(harness.PodBackoff)).then(succeed(index(1))),
		finished(batchv1.JobFailed)),
	newCase("fail-index-on-condition", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(3),
		harness.PodFailurePolicy(onDisruption(failIndex))),
		running(2).then(evict(index(1))), running(1).and(failed("1")).then(succeed(index(0))), finished(batchv1.JobFailed)),
	newCase("ignored-per-index", endless(harness.Indexed(2), harness.BackoffLimitPerIndex(0),
		harness.PodFailurePolicy(onDisruption(ignore))),
		running(2).then(evict(index(1))),
		running(2).and(failed(""), failures(0), newestAfter(harness.PodBackoff)).then(fail(1, index(1))), // a count of 1 on its annotation
		running(1).and(failed("1")).then(succeed(index(0))),
		finished(batchv1.JobFailed)),
	newCase("job-fails-before-its-indexes", endless(harness.Indexed(3), harness.BackoffLimitPerIndex(3),
		harness.PodFailurePolicy(harness.OnExitCodes(failJob, in, 42))),
		running(3).then(succeed(index(2))), running(2).and(completed("2")).then(fail(42, index(1))), finished(batchv1.JobFailed)),
}
