package bridge

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/k8s"
)

// probeJob returns a Job that starts no Pod and that the built-in job controller
// gives a condition at once, since it is suspended.
func probeJob(namespace, name string) *batchv1.Job {
	yes, no := true, false
	none, one, user := int32(0), int32(1), int64(65532)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels:    map[string]string{probeLabel: "jobs", "app.kubernetes.io/managed-by": component},
			Annotations: map[string]string{"kubernetes.io/description": "Ostinato looks whether the built-in job controller runs. " +
				"This Job never starts a Pod and is deleted within seconds."},
		},
		Spec: batchv1.JobSpec{
			Suspend:      &yes,
			Parallelism:  &none,
			Completions:  &one,
			BackoffLimit: &none,
			// Admission looks at a template whose Pods never come to be.
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                corev1.RestartPolicyNever,
				AutomountServiceAccountToken: &no,
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: "none", Image: "none.invalid/none",
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			}},
		},
	}
}

// rivalOf returns who gave a probe a status; empty while nobody has, or only a worker
// of ours, whom somebody may have told to by Temporal.
func rivalOf(probe *batchv1.Job) string {
	if equality.Semantic.DeepEqual(probe.Status, batchv1.JobStatus{}) {
		return ""
	}
	var rival string
	var last time.Time
	byUs := false
	for _, entry := range probe.ManagedFields {
		switch {
		case !isStatusWrite(entry):
		case entry.Manager == k8s.JobFieldManager:
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

// leftProbes returns the probes whose bridge must have died: they are older than
// any bridge looks at one.
func leftProbes(jobs []batchv1.Job, now time.Time) []batchv1.Job {
	var left []batchv1.Job
	for _, job := range jobs {
		if now.Sub(job.CreationTimestamp.Time) > probeAge {
			left = append(left, job)
		}
	}
	return left
}
