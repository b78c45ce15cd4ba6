package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// indexedCases are about Indexed Jobs without a limit per index.
var indexedCases = []testCase{
	newCase("indexed", endless(harness.Indexed(3)),
		running(3).then(succeed(index(0, 2))),
		running(1).and(completed("0,2")).then(succeed(index(1))),
		finished(batchv1.JobComplete)),
	newCase("indexed-at-once", harness.JobSpec(harness.Indexed(4), harness.Parallelism(2)),
		finished(batchv1.JobComplete).and(completed("0-3"))),
	newCase("indexed-one-at-a-time", endless(harness.Indexed(3), harness.Parallelism(1)),
		running(1).then(succeed(index(0))),
		running(1).and(completed("0")).then(succeed(index(1))),
		running(1).and(completed("0,1")).then(succeed(index(2))),
		finished(batchv1.JobComplete)),
	newCase("indexed-intervals", endless(harness.Indexed(9)),
		running(9).then(succeed(index(0, 1, 2, 4, 6, 7))),
		running(3).and(completed("0-2,4,6,7")).then(succeed(index(8))),
		running(2).and(completed("0-2,4,6-8")).then(succeed(index(3))),
		running(1).and(completed("0-4,6-8")).then(succeed(index(5))),
		finished(batchv1.JobComplete)),
	newCase("indexed-nothing-to-do", harness.JobSpec(harness.Indexed(0)), finished(batchv1.JobComplete)),
	newCase("indexed-nobody-to-do-it", endless(harness.Indexed(2), harness.Parallelism(0)),
		waiting().then(parallelism(5)), running(2).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("indexed-many-containers", endless(harness.Indexed(2), harness.Container("side"), harness.InitContainer("first"),
		harness.PodTemplate(indexEverywhere)),
		running(2).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("indexed-name-of-more-than-fifty-eight-characters-at-the-most", endless(harness.Indexed(2)),
		running(2).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("indexed-restarts-in-place", harness.JobSpec(harness.Indexed(2), onFailure, harness.ExitCode(1), harness.BackoffLimit(1)),
		finished(batchv1.JobFailed)),

	newCase("indexed-fails", endless(harness.Indexed(3), harness.BackoffLimit(0)),
		running(3).then(succeed(index(1))),
		running(2).and(completed("1")).then(fail(1, index(2))),
		finished(batchv1.JobFailed)),
	newCase("indexed-tries-again", endless(harness.Indexed(2), harness.BackoffLimit(1)),
		running(2).then(fail(1, index(1))),
		counted(1, 1),
		running(2).and(newestAfter(0), failures(1)).then(fail(1, index(1))),
		finished(batchv1.JobFailed)),
	newCase("indexed-lowest-first", endless(harness.Indexed(4), harness.Parallelism(2)),
		running(2).then(fail(1, index(0))),
		counted(1, 1).then(aSecondLater, succeed(index(1))), // a success ends the back-off
		running(2).and(completed("1")).then(succeed(eachPod)),
		running(1).and(completed("0-2")).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-pod-deleted", endless(harness.Indexed(2)),
		running(2).then(deletePods(index(0))), counted(1, 1), running(2).then(succeed(eachPod)), finished(batchv1.JobComplete)),
	newCase("indexed-pod-deleted-when-it-succeeded", endless(harness.Indexed(2)),
		running(2).then(succeed(index(0))),
		running(1).and(completed("0")).then(deletePods(endedPods)),
		running(1).and(completed("0"), podsAre(1)).lasting(2*time.Second).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),

	newCase("indexed-fewer-at-a-time", endless(harness.Indexed(3), harness.Parallelism(1)),
		running(1).then(aSecondLater, parallelism(3)),
		running(3).then(parallelism(1)), // the newer ones go
		running(1).then(parallelism(2)),
		running(2).and(made(4))),
	newCase("elastic-up", endless(harness.Indexed(2)),
		running(2).then(succeed(index(0))),
		running(1).and(completed("0")).then(elastic(4)),
		running(3).then(succeed(eachPod)),
		finished(batchv1.JobComplete).and(completed("0-3"))),
	newCase("elastic-down", endless(harness.Indexed(4)),
		running(4).then(succeed(index(0, 3))),
		running(2).and(completed("0,3")).then(elastic(2)),
		running(1).and(completed("0")).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("elastic-down-and-up", endless(harness.Indexed(3)),
		running(3).then(succeed(index(2))),
		running(2).and(completed("2")).then(elastic(2)),
		running(2).and(completed("")).then(elastic(3)),
		running(3).and(made(4)).then(succeed(eachPod)), // what was forgotten runs again
		finished(batchv1.JobComplete)),
	newCase("elastic-down-to-the-end", endless(harness.Indexed(3)),
		running(3).then(succeed(index(0))), running(2).and(completed("0")).then(elastic(1)), finished(batchv1.JobComplete)),
	newCase("elastic-down-to-nothing", endless(harness.Indexed(2)), running(2).then(elastic(0)), finished(batchv1.JobComplete)),
	newCase("elastic-while-suspended", endless(harness.Indexed(3)),
		running(3).then(succeed(index(1))),
		running(2).and(completed("1")).then(suspend(true)),
		suspendedNow().then(elastic(1)),
		suspendedNow().and(completed("")).then(suspend(false)),
		running(1).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),

	newCase("indexed-duplicate", endless(harness.Indexed(2)),
		running(2).then(aSecondLater, copyPods(index(1), unchanged)),
		running(2).and(made(3)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-out-of-range", endless(harness.Indexed(2)),
		running(2).then(copyPods(index(0), setIndex("7"))),
		running(2).and(made(3)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-without-index", endless(harness.Indexed(2)),
		running(2).then(copyPods(index(0), func(pod *corev1.Pod) {
			delete(pod.Annotations, batchv1.JobCompletionIndexAnnotation)
		})),
		running(2).and(made(3)).then(succeed(eachPod)),
		finished(batchv1.JobComplete)),
	newCase("indexed-deleted-without-its-pods", endless(harness.Indexed(2)),
		running(2).then(deleteJob(metav1.DeletePropagationOrphan)), gone(2).and(noOwners)),
}

// indexEverywhere is a template that has some of what an index brings already.
func indexEverywhere(template *corev1.PodTemplateSpec) {
	template.Spec.Subdomain, template.Spec.Hostname = "workers", "replaced"
	template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "a"}, {Name: "JOB_COMPLETION_INDEX", Value: "mine"}}
	template.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "B", Value: "b"}}
	template.Labels = map[string]string{"app": "parity"}
}
