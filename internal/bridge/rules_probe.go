package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/k8s"
)

// probeJob returns a Job that starts no Pod and that the built-in job controller
// gives a condition at once, since it is suspended.
func probeJob(namespace, name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: probeMeta(namespace, name, "jobs", "Ostinato looks whether the built-in job controller runs. "+
			"This Job never starts a Pod and is deleted within seconds."),
		Spec: probeSpec(),
	}
}

// probeCronJob returns a CronJob that never starts a Job: it is suspended, and its
// schedule names a day that does not come.
func probeCronJob(namespace, name string) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: probeMeta(namespace, name, "cronjobs", "Ostinato looks whether the built-in cronjob controller runs. "+
			"This CronJob never starts a Job and is deleted within seconds."),
		Spec: batchv1.CronJobSpec{
			Schedule:          "0 0 31 2 *",
			Suspend:           ptr.To(true),
			ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate:       batchv1.JobTemplateSpec{Spec: probeSpec()},
		},
	}
}

// probeActive is what the status of a probe calls active: no Job of this name exists.
func probeActive(namespace, name string) []corev1.ObjectReference {
	return []corev1.ObjectReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Namespace: namespace, Name: name, UID: types.UID(name),
	}}
}

func probeMeta(namespace, name, about, description string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   namespace,
		Name:        name,
		Labels:      map[string]string{probeLabel: about, "app.kubernetes.io/managed-by": Component},
		Annotations: map[string]string{"kubernetes.io/description": description},
	}
}

func probeSpec() batchv1.JobSpec {
	return batchv1.JobSpec{
		Suspend:      ptr.To(true),
		Parallelism:  ptr.To[int32](0),
		Completions:  ptr.To[int32](1),
		BackoffLimit: ptr.To[int32](0),
		// Admission looks at a template whose Pods never come to be.
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "none", Image: "none.invalid/none",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		}},
	}
}

// rivalOf returns who gave a probe a status; empty while nobody has, or only a worker
// of ours, whom somebody may have told to by Temporal.
func rivalOf(probe *batchv1.Job) string {
	if equality.Semantic.DeepEqual(probe.Status, batchv1.JobStatus{}) {
		return ""
	}
	return lastWriter(probe.ManagedFields, k8s.JobFieldManager)
}

// cronJobRivalOf returns who changed the status of an armed probe. Who only takes the
// name out, as the built-in controller does, sets nothing that the API server would note.
func cronJobRivalOf(probe *batchv1.CronJob) string {
	if equality.Semantic.DeepEqual(probe.Status, batchv1.CronJobStatus{Active: probeActive(probe.Namespace, probe.Name)}) {
		return ""
	}
	writes := slices.DeleteFunc(slices.Clone(probe.ManagedFields), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == probeManager })
	return lastWriter(writes, k8s.CronJobFieldManager)
}

// lastWriter returns who wrote the status last, other than ours; empty where only ours has.
func lastWriter(entries []metav1.ManagedFieldsEntry, ours string) string {
	var rival string
	var last time.Time
	byUs := false
	for _, entry := range entries {
		switch {
		case !isStatusWrite(entry):
		case entry.Manager == ours:
			byUs = true
		case entry.Time.After(last):
			rival, last = entry.Manager, entry.Time.Time
		}
	}
	if rival == "" && !byUs {
		return "another controller"
	}
	return rival
}
