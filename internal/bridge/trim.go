package bridge

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// trimCronJob is the informer transform of CronJobs: it keeps all but the Job template, which the bridge must not forward.
func trimCronJob(object any) (any, error) {
	cronJob, ok := object.(*ostinatov1.CronJob)
	if !ok {
		return nil, fmt.Errorf("trim CronJob: got a %T", object)
	}
	trimmed := &ostinatov1.CronJob{ObjectMeta: k8s.TrimMeta(cronJob.ObjectMeta), Spec: cronJob.Spec, Status: cronJob.Status}
	trimmed.Spec.JobTemplate = batchv1.JobTemplateSpec{}
	return trimmed, nil
}

// trimNativeCronJob is the informer transform of CronJobs of batch/v1: it gives them the shape of
// ours and keeps who wrote their status when, but not ScheduledTimeVariable, an annotation of any length.
func trimNativeCronJob(object any) (any, error) {
	native, ok := object.(*batchv1.CronJob)
	if !ok {
		// An informer may ask again for what it has been given.
		return object, nil
	}
	cronJob := k8s.FromNative(native)
	cronJob.ObjectMeta = trimNativeMeta(native.ObjectMeta)
	cronJob.Spec.JobTemplate, cronJob.Spec.ScheduledTimeVariable = batchv1.JobTemplateSpec{}, nil
	cronJob.ManagedFields = statusWrites(native.ManagedFields)
	return cronJob, nil
}

const (
	// maxText bounds the reason and the message of a condition.
	maxText = 1024
	// maxFailurePolicy bounds the podFailurePolicy that is kept, by its encoded size in bytes.
	maxFailurePolicy = 4 << 10
)

// trimJob, the informer transform of Jobs, keeps what decides when Pods start and the Job ends. Of a Job that is neither
// Ostinato's nor a CronJob's of ours it keeps the identity.
func (o ownership) trimJob(object any) (any, error) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return nil, fmt.Errorf("trim Job: got a %T", object)
	}
	trimmed := &batchv1.Job{ObjectMeta: trimNativeMeta(job.ObjectMeta)}
	if _, owned := o.cronJobOf(job); !owned && !o.ours(job) {
		trimmed.OwnerReferences = nil
		trimmed.Spec.ManagedBy = job.Spec.ManagedBy
		return trimmed, nil
	}
	k8s.KeepAnnotations(&trimmed.ObjectMeta, job.Annotations, names.ScheduledTimestampAnnotation, names.InstantiateAnnotation)
	k8s.KeepAnnotations(&trimmed.ObjectMeta, job.Annotations, settingAnnotations...)
	keepStop(&trimmed.ObjectMeta, job.Annotations)
	if o.takeOver.Jobs {
		trimmed.ManagedFields = statusWrites(job.ManagedFields)
	}
	trimmed.Spec = job.Spec
	trimmed.Spec.Selector = nil
	trimPolicies(&trimmed.Spec)
	trimmed.Spec.Template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: job.Spec.Template.Spec.RestartPolicy}}
	k8s.KeepAnnotations(&trimmed.Spec.Template.ObjectMeta, job.Spec.Template.Annotations, settingAnnotations...)
	// A workflow that starts reads the indexes and the Pods off the Job itself.
	trimmed.Status = job.Status
	trimmed.Status.CompletedIndexes, trimmed.Status.FailedIndexes, trimmed.Status.UncountedTerminatedPods = "", nil, nil
	trimmed.Status.Conditions = trimConditions(job.Status.Conditions)
	return trimmed, nil
}

// keepStop keeps what the annotation says that ends a Job. It is longer than other settings, and bounded.
func keepStop(trimmed *metav1.ObjectMeta, annotations map[string]string) {
	if stop := job.StopOf(annotations); stop != nil {
		metav1.SetMetaDataAnnotation(trimmed, names.StopAnnotation, stop.Annotation())
	}
}

// trimPolicies keeps that there is a successPolicy, and a podFailurePolicy: a large one loses its rules. Neither can be
// edited. A plan made without the rules is for another Job than there is, and is answered with the whole.
func trimPolicies(spec *batchv1.JobSpec) {
	if spec.SuccessPolicy != nil {
		spec.SuccessPolicy = &batchv1.SuccessPolicy{}
	}
	if spec.PodFailurePolicy != nil && spec.PodFailurePolicy.Size() > maxFailurePolicy {
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
	}
}

// trimConditions keeps the conditions that Kubernetes defines.
func trimConditions(conditions []batchv1.JobCondition) []batchv1.JobCondition {
	var trimmed []batchv1.JobCondition
	for _, condition := range conditions {
		if slices.Contains(job.ConditionTypes, condition.Type) {
			condition.Reason, condition.Message = clip.Text(condition.Reason, maxText), clip.Text(condition.Message, maxText)
			trimmed = append(trimmed, condition)
		}
	}
	return trimmed
}

// trimNativeMeta keeps of an object of batch/v1 that it is a probe.
func trimNativeMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := k8s.TrimMeta(meta)
	if value, ok := meta.Labels[probeLabel]; ok {
		trimmed.Labels = map[string]string{probeLabel: value}
	}
	return trimmed
}
