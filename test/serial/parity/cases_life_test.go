package parity

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
)

// lifeCases are about deadlines and what becomes of a Job that is finished, and
// about what its Pods look like.
var lifeCases = []testCase{
	newCase("deadline", endless(harness.ActiveDeadline(10)), running(1), finished(batchv1.JobFailed)),
	newCase("deadline-while-pending", endless(harness.ActiveDeadline(10), harness.PendingSeconds(3600)),
		pending(1), finished(batchv1.JobFailed)),
	newCase("no-time-at-all", endless(harness.ActiveDeadline(0)), finished(batchv1.JobFailed)),
	newCase("deadline-shortened", endless(harness.ActiveDeadline(3600)),
		running(1).then(patchJob(`{"spec":{"activeDeadlineSeconds":1}}`)), finished(batchv1.JobFailed)),
	newCase("deadline-given-late", endless(harness.Parallelism(2)),
		running(2).then(patchJob(`{"spec":{"activeDeadlineSeconds":1}}`)), finished(batchv1.JobFailed)),
	newCase("deadline-taken-away", endless(harness.ActiveDeadline(10)),
		running(1).then(patchJob(`{"spec":{"activeDeadlineSeconds":null}}`)),
		running(1).lasting(11*time.Second).then(succeed(onePod)),
		finished(batchv1.JobComplete)),
	newCase("deadline-during-back-off", endless(harness.ActiveDeadline(10)),
		running(1).then(fail(1, onePod)), finished(batchv1.JobFailed)),
	newCase("deadline-of-the-pod", endless(harness.BackoffLimit(0), harness.PodTemplate(func(template *corev1.PodTemplateSpec) {
		template.Spec.ActiveDeadlineSeconds = ptr.To(int64(1))
	})), finished(batchv1.JobFailed)),

	newCase("deleted-when-finished", harness.JobSpec(harness.TTLAfterFinished(0)), gone(0)),
	newCase("deleted-after-it-finished", harness.JobSpec(harness.TTLAfterFinished(10)), finished(batchv1.JobComplete), gone(0)),
	newCase("deleted-after-it-failed", harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(0), harness.TTLAfterFinished(10)),
		finished(batchv1.JobFailed), gone(0)),
	newCase("deleted-earlier-than-planned", harness.JobSpec(harness.TTLAfterFinished(3600)),
		finished(batchv1.JobComplete).then(patchJob(`{"spec":{"ttlSecondsAfterFinished":1}}`)), gone(0)),
	newCase("edited-when-finished", harness.JobSpec(),
		finished(batchv1.JobComplete).then(patchJob(`{"spec":{"parallelism":3,"activeDeadlineSeconds":1,"suspend":true,"backoffLimit":0}}`)),
		finished(batchv1.JobComplete).lasting(2*time.Second)),

	{
		name: "metadata-of-its-own", labels: map[string]string{"team": "batch"}, annotations: map[string]string{"example.com/note": "kept"},
		spec: endless(harness.PodAnnotation("example.com/note", "kept"), harness.PodTemplate(func(template *corev1.PodTemplateSpec) {
			template.Labels = map[string]string{"app": "parity"}
			template.Finalizers = []string{"example.com/hold"}
		})),
		steps: steps(running(1).then(succeed(onePod)), finished(batchv1.JobComplete).then(patchPods(endedPods, `{"metadata":{"finalizers":null}}`)),
			finished(batchv1.JobComplete)),
	},
	newCase("many-containers", endless(harness.Container("side"), harness.InitContainer("first"), harness.BackoffLimit(0),
		harness.PodTemplate(func(template *corev1.PodTemplateSpec) {
			sidecar := template.Spec.Containers[0].DeepCopy()
			sidecar.Name, sidecar.RestartPolicy = "beside", ptr.To(corev1.ContainerRestartPolicyAlways)
			template.Spec.InitContainers = append(template.Spec.InitContainers, *sidecar)
			template.Spec.Subdomain, template.Spec.Hostname = "workers", "one"
		})), running(1).then(failContainer("side", 7, onePod)), finished(batchv1.JobFailed)),
	newCase("name-of-sixty-three-characters-which-is-the-most-a-job-may-have", endless(),
		running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("name.with.dots", endless(), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("scheduling-gate", endless(harness.PodTemplate(func(template *corev1.PodTemplateSpec) {
		template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	})), pending(1).then(patchPods(onePod, `{"spec":{"schedulingGates":null}}`)), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
}
