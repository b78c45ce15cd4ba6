package k8s

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// manual is the InstantiateAnnotation's value, as kubectl writes it.
const manual = "manual"

// RenderJob returns the Job that a Start asks for, built from the CronJob's template as upstream builds it (parity 1.7). The Job
// is handed to Ostinato by spec.managedBy unless the template names a manager or the CronJob is native. A Job that is handed over
// gets the WorkflowAnnotation with workflow ("<Temporal namespace>/<ID of the Job's workflow>"); another's has no workflow.
func RenderJob(cronJob *ostinatov1.CronJob, start schedule.Start, workflow string) *batchv1.Job {
	template := cronJob.Spec.JobTemplate.DeepCopy()
	annotations := make(map[string]string, len(template.Annotations)+5)
	maps.Copy(annotations, template.Annotations)
	zone, err := time.LoadLocation(ptr.Deref(cronJob.Spec.TimeZone, ""))
	if err != nil {
		zone = time.UTC
	}
	annotations[names.ScheduledTimestampAnnotation] = start.Scheduled.In(zone).Format(time.RFC3339)
	if start.Manual {
		annotations[names.InstantiateAnnotation] = manual
	}
	if seconds := ptr.Deref(cronJob.Spec.PendingDeadlineSeconds, 0); seconds > 0 {
		annotations[names.PendingDeadlineAnnotation] = strconv.FormatInt(seconds, 10)
	}
	if cronJob.Spec.Evidence.Successes {
		annotations[names.EvidenceSuccessesAnnotation] = "true"
	}
	if start.Backfill != 0 {
		annotations[names.BackfillAnnotation] = strconv.FormatInt(start.Backfill, 10)
	}
	spec := template.Spec
	if variable := ptr.Deref(cronJob.Spec.ScheduledTimeVariable, ""); variable != "" {
		// It comes first, so that the others can refer to it.
		for container := range without(&spec.Template.Spec, variable) {
			container.Env = slices.Insert(container.Env, 0, corev1.EnvVar{Name: variable, Value: start.Scheduled.UTC().Format(time.RFC3339)})
		}
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

// ScheduledTime is the scheduled time in a Job's annotation, which any writer may have set; zero if it has none.
func ScheduledTime(job *batchv1.Job) time.Time {
	return parsed(job.Annotations[names.ScheduledTimestampAnnotation])
}

// parsed is the time in an annotation, in UTC; zero where there is none, or one that JSON can't carry.
func parsed(text string) time.Time {
	at, _ := time.Parse(time.RFC3339, text)
	return inUTC(at)
}

// inUTC returns the time in UTC; zero for one that JSON can't carry there: the last hours of the
// year 9999 somewhere are in the year 10000.
func inUTC(at time.Time) time.Time {
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// RenderPod returns the Pod that a Create asks for, built from the Job's template as upstream builds it (parity 2.10),
// with two differences: the name is given, and the watch bucket label says which PodWatch shard reports the Pod. The
// Job's evidence annotation is the Pod's where it is stricter than the template's.
func RenderPod(owner *batchv1.Job, create job.Create) *corev1.Pod {
	template := owner.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            create.Name,
			GenerateName:    podPrefix(owner.Name),
			Namespace:       owner.Namespace,
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, jobKind)},
		},
		Spec: template.Spec,
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, names.WatchBucketLabel, names.WatchBucket(string(owner.UID)))
	if !claim.Tracked(pod) {
		pod.Finalizers = append(pod.Finalizers, names.TrackingFinalizer)
	}
	LimitEvidence(pod, evidence.Of(owner.Annotations))
	if create.Index != nil {
		renderIndex(pod, owner, create)
	}
	return pod
}

// LimitEvidence makes a Pod that is to be created say that no more of it may be kept than the level: what its Job and its
// namespace ask for is then known wherever the Pod is, without a further request.
func LimitEvidence(pod *corev1.Pod, level evidence.Level) {
	if level > evidence.Of(pod.Annotations) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, names.EvidenceAnnotation, level.String())
	}
}

// renderIndex tells the Pod its index, and with a back-off limit per index how often Pods of it have failed before; how
// many of them were ignored only where there are any, as upstream.
func renderIndex(pod *corev1.Pod, owner *batchv1.Job, create job.Create) {
	value := strconv.Itoa(int(*create.Index))
	pod.GenerateName = names.IndexedPodPrefix(owner.Name, *create.Index)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, value)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, value)
	if owner.Spec.BackoffLimitPerIndex != nil {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(int(create.Failures)))
		if create.Ignored > 0 {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(int(create.Ignored)))
		}
	}
	pod.Spec.Hostname = owner.Name + "-" + value
	const variable = "JOB_COMPLETION_INDEX"
	for container := range without(&pod.Spec, variable) {
		container.Env = append(container.Env, corev1.EnvVar{
			Name: variable,
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']",
			}},
		})
	}
}

// without yields a Pod's init containers and containers that have no variable of a name, to be given one.
func without(pod *corev1.PodSpec, variable string) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for container := range pointers(pod.InitContainers, pod.Containers) {
			has := slices.ContainsFunc(container.Env, func(one corev1.EnvVar) bool { return one.Name == variable })
			if !has && !yield(container) {
				return
			}
		}
	}
}

// pointers yields the items of several lists, to be read or changed in place.
func pointers[Item any](lists ...[]Item) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for _, list := range lists {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// podPrefix is upstream's generateName: the Job's name and a dash where that is valid.
func podPrefix(jobName string) string {
	if prefix := jobName + "-"; len(apivalidation.NameIsDNSSubdomain(prefix, true)) == 0 {
		return prefix
	}
	return jobName
}
