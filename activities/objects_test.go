package activities_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// helloJob is a managed Job as the API server stores it.
func helloJob() *batchv1.Job {
	managedBy, many := names.JobController, int32(2000)
	labels := map[string]string{batchv1.ControllerUidLabel: jobUID, batchv1.JobNameLabel: jobName}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: jobName, UID: jobUID, ResourceVersion: "7"},
		Spec: batchv1.JobSpec{
			ManagedBy:   &managedBy,
			Parallelism: &many,
			Completions: &many,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "hello", Image: "busybox"}},
				},
			},
		},
	}
}

func helloCronJob() *ostinatov1.CronJob {
	return &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello", UID: "cron-uid", Generation: 3},
		Spec: ostinatov1.CronJobSpec{
			Schedule: "* * * * *",
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyOnFailure,
					Containers:    []corev1.Container{{Name: "hello", Image: "busybox"}},
				},
			}}},
		},
	}
}

// podBuilder builds a Pod of the hello Job.
type podBuilder struct{ *corev1.Pod }

func helloPod(name string, phase corev1.PodPhase) podBuilder {
	return podBuilder{&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name + "-uid"),
			Labels:          map[string]string{batchv1.ControllerUidLabel: jobUID, names.WatchBucketLabel: names.WatchBucket(jobUID)},
			Finalizers:      []string{names.TrackingFinalizer, "example.com/archive"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(helloJob(), batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec:   corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
		Status: corev1.PodStatus{Phase: phase},
	}}
}

func (p podBuilder) released() podBuilder {
	p.Finalizers = nil
	return p
}

func (p podBuilder) uncontrolled() podBuilder {
	p.OwnerReferences = nil
	return p
}

func (p podBuilder) deleting() podBuilder {
	p.DeletionTimestamp = ptr.To(metav1.NewTime(scheduled))
	return p
}

func (p podBuilder) ready(ready bool) podBuilder {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	return p
}

func (p podBuilder) labelled(key, value string) podBuilder {
	if value == "" {
		delete(p.Labels, key)
	} else {
		p.Labels[key] = value
	}
	return p
}

// unseen takes the label off by which PodWatch sees the Pod.
func (p podBuilder) unseen() podBuilder { return p.labelled(names.WatchBucketLabel, "") }

// stranger takes the label off that the Job's selector wants.
func (p podBuilder) stranger() podBuilder { return p.labelled(batchv1.ControllerUidLabel, "") }

func (p podBuilder) of(owner *batchv1.Job) podBuilder {
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return p
}

// by makes another controller's Pod of it.
func (p podBuilder) by(controller metav1.OwnerReference) podBuilder {
	p.OwnerReferences = []metav1.OwnerReference{controller}
	return p
}

// after puts an owner before those that there are.
func (p podBuilder) after(owner metav1.OwnerReference) podBuilder {
	p.OwnerReferences = append([]metav1.OwnerReference{owner}, p.OwnerReferences...)
	return p
}

func (p podBuilder) finalized(finalizers ...string) podBuilder {
	p.Finalizers = finalizers
	return p
}

func (p podBuilder) identified(uid types.UID) podBuilder {
	p.UID = uid
	return p
}

func (p podBuilder) in(namespace string) podBuilder {
	p.Namespace = namespace
	return p
}

func (p podBuilder) annotated(key, value string) podBuilder {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[key] = value
	return p
}

// manualJob is a Job with a selector of its own making.
func manualJob() *batchv1.Job {
	job := helloJob()
	job.Spec.ManualSelector = ptr.To(true)
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "hello"}}
	job.Spec.Template.Labels = map[string]string{"app": "hello"}
	return job
}

func otherJob() *batchv1.Job {
	job := helloJob()
	job.Name, job.UID = "other", "other-uid"
	return job
}
