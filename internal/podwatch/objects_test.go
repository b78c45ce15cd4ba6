package podwatch_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/names"
)

const (
	namespace  = "default"
	jobName    = "hello-1"
	jobUID     = "job-uid"
	workflowID = "job/default/hello-1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testLogger(t *testing.T) *slog.Logger {
	output := io.Discard
	if testing.Verbose() {
		output = t.Output()
	}
	return slog.New(slog.NewTextHandler(output, nil))
}

// helloJob is a managed Job as the API server stores it.
func helloJob() *batchv1.Job {
	labels := map[string]string{batchv1.ControllerUidLabel: jobUID, batchv1.JobNameLabel: jobName}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: jobName, UID: jobUID, ResourceVersion: "7"},
		Spec: batchv1.JobSpec{
			ManagedBy: ptr.To(names.JobController),
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

func managedBy(job *batchv1.Job, manager *string) *batchv1.Job {
	job.Spec.ManagedBy = manager
	return job
}

func deletingJob(job *batchv1.Job) *batchv1.Job {
	job.DeletionTimestamp, job.Finalizers = ptr.To(metav1.NewTime(noon)), []string{"orphan"}
	return job
}

func finishedJob(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.Job {
	job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	return job
}

func objects(owner *batchv1.Job, pods ...podBuilder) []runtime.Object {
	objects := []runtime.Object{owner}
	for _, pod := range pods {
		objects = append(objects, pod.Pod)
	}
	return objects
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

func (p podBuilder) in(namespace string) podBuilder {
	p.Namespace = namespace
	return p
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
	p.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	return p
}

func (p podBuilder) ready() podBuilder {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
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

// unseen takes the label off by which the watch sees the Pod.
func (p podBuilder) unseen() podBuilder { return p.labelled(names.WatchBucketLabel, "") }

// stranger takes the label off that the Job's selector wants.
func (p podBuilder) stranger() podBuilder { return p.labelled(batchv1.ControllerUidLabel, "") }

func (p podBuilder) of(owner *batchv1.Job) podBuilder {
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return p
}

func (p podBuilder) annotated(key, value string) podBuilder {
	p.Annotations = map[string]string{key: value}
	return p
}

// madeElsewhere makes a Pod one that a person has created.
func (p podBuilder) madeElsewhere() podBuilder {
	p.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-create", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:restartPolicy":{}}}`),
	}}
	return p
}
