package claim_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/names"
)

const (
	namespace = "default"
	jobName   = "hello"
	jobUID    = "hello-uid"
)

// podBuilder builds a running Pod as Ostinato makes it for the Job hello.
type podBuilder struct{ *corev1.Pod }

func pod() podBuilder {
	return podBuilder{&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "a", UID: "a-uid",
			Labels: map[string]string{
				batchv1.JobNameLabel: jobName, batchv1.ControllerUidLabel: jobUID,
				names.WatchBucketLabel: names.WatchBucket(jobUID),
			},
			Finalizers:      []string{"example.com/archive", names.TrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{controller("batch/v1", "Job", jobName, jobUID)},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}}
}

func controller(version, kind, name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID(uid), Controller: ptr.To(true)}
}

func (p podBuilder) in(namespace string) podBuilder { p.Namespace = namespace; return p }

func (p podBuilder) named(name string) podBuilder { p.Name = name; return p }

func (p podBuilder) orphan() podBuilder { p.OwnerReferences = nil; return p }

func (p podBuilder) of(reference metav1.OwnerReference) podBuilder {
	p.OwnerReferences = []metav1.OwnerReference{reference}
	return p
}

func (p podBuilder) untracked() podBuilder {
	p.Finalizers = []string{"example.com/archive"}
	return p
}

func (p podBuilder) ended() podBuilder { p.Status.Phase = corev1.PodFailed; return p }

func (p podBuilder) deleting() podBuilder {
	p.DeletionTimestamp = &metav1.Time{}
	return p
}

func (p podBuilder) labelled(key, value string) podBuilder { p.Labels[key] = value; return p }

// stranger takes the labels off that the Job's selector wants.
func (p podBuilder) stranger() podBuilder {
	delete(p.Labels, batchv1.ControllerUidLabel)
	return p
}

func (p podBuilder) nameless() podBuilder { delete(p.Labels, batchv1.JobNameLabel); return p }

// unwatched takes the label off by which PodWatch sees the Pod.
func (p podBuilder) unwatched() podBuilder { delete(p.Labels, names.WatchBucketLabel); return p }

// ownerBuilder builds what is known of a Job.
type ownerBuilder struct{ claim.Owner }

// living is the Job hello, managed by Ostinato.
func living() ownerBuilder {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: jobName, UID: jobUID},
		Spec: batchv1.JobSpec{
			ManagedBy: ptr.To(names.JobController),
			Selector:  &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: jobUID}},
		},
	}
	return ownerBuilder{claim.Of(job, false)}
}

func gone() ownerBuilder {
	return ownerBuilder{claim.Owner{Namespace: namespace, Name: jobName, UID: jobUID}}
}

func (o ownerBuilder) managedBy(manager string) ownerBuilder {
	o.Job.Spec.ManagedBy = ptr.To(manager)
	return o
}

func (o ownerBuilder) unmarked() ownerBuilder { o.Job.Spec.ManagedBy = nil; return o }

func (o ownerBuilder) takenOver() ownerBuilder { o.TakeOver = true; return o }

func (o ownerBuilder) unattended() ownerBuilder { o.Unattended = true; return o }

func (o ownerBuilder) deleting() ownerBuilder {
	o.Job.DeletionTimestamp = &metav1.Time{}
	return o
}

func (o ownerBuilder) with(condition batchv1.JobConditionType, status corev1.ConditionStatus) ownerBuilder {
	o.Job.Status.Conditions = append(o.Job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: status})
	return o
}

func (o ownerBuilder) finished() ownerBuilder {
	return o.with(batchv1.JobComplete, corev1.ConditionTrue)
}

func (o ownerBuilder) selecting(selector *metav1.LabelSelector) ownerBuilder {
	o.Job.Spec.Selector = selector
	return o
}

// manual gives the Job a selector of its own making.
func (o ownerBuilder) manual() ownerBuilder {
	return o.selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "hello"}})
}

func cronJob(name, uid string) metav1.OwnerReference {
	return controller(ostinatov1.GroupVersion.String(), "CronJob", name, uid)
}
