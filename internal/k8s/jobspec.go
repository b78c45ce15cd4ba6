package k8s

import (
	"maps"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// manual is the InstantiateAnnotation's value, as kubectl writes it.
const manual = "manual"

// RenderJob returns the Job that a Start asks for, built from the CronJob's template as upstream
// builds it (parity 1.7). The Job is handed to Ostinato by spec.managedBy unless the template names
// a manager or the CronJob is native. A Job that is handed over gets the WorkflowAnnotation with
// workflow ("<Temporal namespace>/<ID of the Job's workflow>"); another's has no workflow.
func RenderJob(cronJob *ostinatov1.CronJob, start schedule.Start, workflow string) *batchv1.Job {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	annotations := make(map[string]string, len(template.Annotations)+4)
	maps.Copy(annotations, template.Annotations)
	annotations[names.ScheduledTimestampAnnotation] = start.Scheduled.In(location(cronJob.Spec.TimeZone)).Format(time.RFC3339)
	if start.Manual {
		annotations[names.InstantiateAnnotation] = manual
	}
	if start.Backfill != 0 {
		annotations[names.BackfillAnnotation] = strconv.FormatInt(start.Backfill, 10)
	}
	spec := template.Spec
	if variable := ptr.Deref(cronJob.Spec.ScheduledTimeVariable, ""); variable != "" {
		addTimeVariable(&spec.Template.Spec, variable, start.Scheduled)
	}
	if spec.ManagedBy == nil && !IsNative(cronJob) {
		spec.ManagedBy = ptr.To(names.JobController)
	}
	if ptr.Deref(spec.ManagedBy, "") == names.JobController {
		annotations[names.WorkflowAnnotation] = workflow
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            start.Name,
			Namespace:       cronJob.Namespace,
			Labels:          template.Labels,
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, CronJobKindOf(cronJob))},
		},
		Spec: spec,
	}
}

// addTimeVariable tells every container the run's scheduled time, unless it has a variable
// of that name. It comes first, so that the others can refer to it.
func addTimeVariable(pod *corev1.PodSpec, name string, scheduled time.Time) {
	variable := corev1.EnvVar{Name: name, Value: scheduled.UTC().Format(time.RFC3339)}
	for container := range containers(pod) {
		if !hasVariable(container, name) {
			container.Env = append([]corev1.EnvVar{variable}, container.Env...)
		}
	}
}

// location returns the zone in which a run's time is written, as upstream; UTC by default.
func location(timeZone *string) *time.Location {
	zone, err := time.LoadLocation(ptr.Deref(timeZone, ""))
	if err != nil {
		return time.UTC
	}
	return zone
}

// ScheduledTime is the scheduled time that a Job says; zero where it says none, or one
// that JSON can't carry in UTC. Whoever may write the Job may have written it.
func ScheduledTime(job *batchv1.Job) time.Time {
	scheduled, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
	if err != nil {
		return time.Time{}
	}
	return inUTC(scheduled)
}

// inUTC returns the time in UTC; zero for one that JSON can't carry there: the last hours of the
// year 9999 somewhere are in the year 10000.
func inUTC(at time.Time) time.Time {
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}
