package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// directives are those parts of a Pod template that may be edited while the Job is suspended.
const directives = `"template":{
	"metadata":{"labels":{"example.com/queue":"fast"},"annotations":{"example.com/admitted":"yes"}},
	"spec":{
		"nodeSelector":{"type":"kwok"},
		"tolerations":[{"key":"example.com/reserved","operator":"Exists"}],
		"containers":[{"name":"main","image":"busybox:1.28","command":["/bin/sh","-c","date"],"resources":{"requests":{"cpu":"10m"},"limits":{"memory":"64Mi"}}}]
	}}`

// suspendedCases are about suspend, and what may be edited meanwhile.
var suspendedCases = []testCase{
	newCase("created-suspended", endless(harness.Suspended()),
		suspendedNow().then(suspend(false)), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("suspended-while-running", endless(harness.Parallelism(2), harness.Completions(2)),
		running(2).then(suspend(true)),
		suspendedNow().then(aSecondLater, suspend(false)),
		running(2).and(startedAnew).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("suspended-twice", endless(),
		running(1).then(suspend(true)), suspendedNow().then(suspend(false)), running(1).then(suspend(true)), suspendedNow()),
	newCase("suspended-while-pending", endless(harness.PendingSeconds(3600)), pending(1).then(suspend(true)), suspendedNow()),
	newCase("suspended-between-failures", endless(harness.BackoffLimit(1)),
		running(1).then(fail(1, onePod)),
		counted(1, 0).then(suspend(true)),
		suspendedNow().then(suspend(false)),
		running(1).and(failures(1)).then(fail(1, onePod)),
		finished(batchv1.JobFailed)),
	newCase("suspended-between-successes", endless(harness.Completions(2)),
		running(1).then(succeed(onePod)),
		running(1).and(successes(1)).then(suspend(true)),
		suspendedNow().then(suspend(false)),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("suspended-and-its-pods-linger", endless(harness.Parallelism(2), harness.TerminationSeconds(8)),
		running(2).then(suspend(true)),
		terminating(2).and(condition(batchv1.JobSuspended)).then(suspend(false)),
		running(2).and(failures(0), made(4)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("suspended-and-replaced-when-gone", endless(harness.PodReplacementPolicy(batchv1.Failed), harness.TerminationSeconds(8)),
		running(1).then(suspend(true)),
		terminating(1).and(condition(batchv1.JobSuspended)).then(suspend(false)),
		state("resumed, 1 terminating", counts(0, 0, 1), noCondition(batchv1.JobSuspended)),
		running(1).and(failures(0))),
	newCase("suspended-and-out-of-attempts", endless(harness.BackoffLimit(3)),
		running(1).then(fail(1, onePod)),
		counted(1, 0).then(suspend(true)),
		suspendedNow().then(patchJob(`{"spec":{"backoffLimit":0}}`)),
		suspendedNow().and(condition(batchv1.JobFailureTarget)).lasting(time.Second).then(suspend(false)),
		finished(batchv1.JobFailed)),
	newCase("deadline-counts-from-resume", endless(harness.Suspended(), harness.ActiveDeadline(10)),
		suspendedNow().then(aSecondLater, suspend(false)), running(1).and(startedAnew), finished(batchv1.JobFailed)),
	newCase("deadline-does-not-count-while-suspended", endless(harness.ActiveDeadline(3600)),
		running(1).then(suspend(true)),
		suspendedNow().then(patchJob(`{"spec":{"activeDeadlineSeconds":0}}`)),
		suspendedNow().lasting(2*time.Second).then(suspend(false)),
		finished(batchv1.JobFailed)),
	newCase("nothing-to-do-suspended", harness.JobSpec(harness.Completions(0), harness.Suspended()), finished(batchv1.JobComplete)),

	newCase("edited-before-its-start", endless(harness.Suspended()),
		suspendedNow().then(patchJob(`{"spec":{`+directives+`}}`)),
		suspendedNow().then(suspend(false)),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("edited-and-resumed-at-once", endless(harness.Suspended()),
		suspendedNow().then(patchJob(`{"spec":{"suspend":false,`+directives+`}}`)),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("edited-between-two-runs", endless(harness.Parallelism(2), harness.Completions(2)),
		running(2).then(succeed(onePod)),
		running(1).then(suspend(true)),
		suspendedNow().then(patchJob(`{"spec":{`+directives+`}}`), suspend(false)),
		running(1).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-edited-before-its-start", endless(harness.Suspended(), harness.Indexed(2)),
		suspendedNow().then(patchJob(`{"spec":{"suspend":false,"completions":3,"parallelism":3,`+directives+`}}`)),
		running(3).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-suspended", endless(harness.Indexed(3)),
		running(3).then(succeed(index(1))),
		running(2).and(completed("1")).then(suspend(true)),
		suspendedNow().and(completed("1")).then(suspend(false)),
		running(2).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
}
