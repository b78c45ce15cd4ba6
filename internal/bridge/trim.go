package bridge

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// trimCronJob is the informer transform of CronJobs: it keeps all but the Job
// template, which the bridge must not forward and need not hold.
func trimCronJob(object any) (any, error) {
	cronJob, ok := object.(*ostinatov1.CronJob)
	if !ok {
		return nil, fmt.Errorf("trim CronJob: got a %T", object)
	}
	trimmed := &ostinatov1.CronJob{
		ObjectMeta: trimMeta(cronJob.ObjectMeta),
		Spec:       cronJob.Spec,
		Status:     cronJob.Status,
	}
	trimmed.Spec.JobTemplate = batchv1.JobTemplateSpec{}
	return trimmed, nil
}

// trimNativeCronJob is the informer transform of CronJobs of batch/v1: it gives them the
// shape of ours, and keeps who wrote their status when.
func trimNativeCronJob(object any) (any, error) {
	native, ok := object.(*batchv1.CronJob)
	if !ok {
		// An informer may ask again for what it has been given.
		return object, nil
	}
	cronJob := k8s.FromNative(native)
	trimmed := &ostinatov1.CronJob{
		TypeMeta:   cronJob.TypeMeta,
		ObjectMeta: trimMeta(cronJob.ObjectMeta),
		Spec:       cronJob.Spec,
		Status:     cronJob.Status,
	}
	trimmed.Spec.JobTemplate = batchv1.JobTemplateSpec{}
	trimmed.ManagedFields = statusWrites(native.ManagedFields)
	if value, ok := native.Labels[probeLabel]; ok {
		metav1.SetMetaDataLabel(&trimmed.ObjectMeta, probeLabel, value)
	}
	return trimmed, nil
}

// trimJob is the informer transform of Jobs: it keeps what decides when Pods
// start and when the Job ends, and nothing of what runs in them. Of a Job that
// is neither Ostinato's nor a CronJob's of ours, it keeps the identity and, where
// Jobs are taken over, when it is to be deleted.
func (o ownership) trimJob(object any) (any, error) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return nil, fmt.Errorf("trim Job: got a %T", object)
	}
	trimmed := &batchv1.Job{ObjectMeta: trimMeta(job.ObjectMeta)}
	if value, ok := job.Labels[probeLabel]; ok {
		metav1.SetMetaDataLabel(&trimmed.ObjectMeta, probeLabel, value)
	}
	if _, owned := o.cronJobOf(job); !owned && !o.ours(job) {
		trimmed.OwnerReferences = nil
		trimmed.Spec.ManagedBy = job.Spec.ManagedBy
		if o.takeOverJobs {
			trimmed.Spec.TTLSecondsAfterFinished = job.Spec.TTLSecondsAfterFinished
			trimmed.Status.Conditions = job.Status.Conditions
		}
		return trimmed, nil
	}
	keepAnnotations(&trimmed.ObjectMeta, job.Annotations, names.ScheduledTimestampAnnotation, names.InstantiateAnnotation)
	keepAnnotations(&trimmed.ObjectMeta, job.Annotations, settingAnnotations...)
	if o.takeOverJobs {
		trimmed.ManagedFields = statusWrites(job.ManagedFields)
	}
	trimmed.Spec = job.Spec
	trimmed.Spec.Selector = nil
	trimmed.Spec.Template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: job.Spec.Template.Spec.RestartPolicy}}
	keepAnnotations(&trimmed.Spec.Template.ObjectMeta, job.Spec.Template.Annotations, settingAnnotations...)
	trimmed.Status = job.Status
	return trimmed, nil
}

// keepAnnotations copies the annotations of these names.
func keepAnnotations(trimmed *metav1.ObjectMeta, annotations map[string]string, keep ...string) {
	for _, annotation := range keep {
		if value, ok := annotations[annotation]; ok {
			metav1.SetMetaDataAnnotation(trimmed, annotation, value)
		}
	}
}

func trimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := metav1.ObjectMeta{
		Name:              meta.Name,
		Namespace:         meta.Namespace,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		Generation:        meta.Generation,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
	}
	if owner := metav1.GetControllerOfNoCopy(&meta); owner != nil {
		trimmed.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return trimmed
}
