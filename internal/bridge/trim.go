package bridge

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
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

// trimJob is the informer transform of Jobs: it keeps what decides when Pods
// start and when the Job ends, and nothing of what runs in them. Of a Job that
// is neither Ostinato's nor a CronJob's of ours, it keeps the identity alone.
func trimJob(object any) (any, error) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return nil, fmt.Errorf("trim Job: got a %T", object)
	}
	trimmed := &batchv1.Job{ObjectMeta: trimMeta(job.ObjectMeta)}
	if !managed(job) && ownerCronJob(job) == nil {
		trimmed.OwnerReferences = nil
		return trimmed, nil
	}
	for _, annotation := range []string{names.ScheduledTimestampAnnotation, names.InstantiateAnnotation} {
		if value, ok := job.Annotations[annotation]; ok {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, annotation, value)
		}
	}
	trimmed.Spec = job.Spec
	trimmed.Spec.Selector = nil
	trimmed.Spec.Template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: job.Spec.Template.Spec.RestartPolicy}}
	trimmed.Status = job.Status
	return trimmed, nil
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
