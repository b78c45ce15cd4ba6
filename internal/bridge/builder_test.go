package bridge

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// start is when the objects of the tests are created.
var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// after returns a time so many seconds after start.
func after(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func at(seconds int) *metav1.Time {
	return ptr.To(metav1.NewTime(after(seconds)))
}

func referenceFor(namespace, name string) ostinatov1.WorkflowReference {
	return ostinatov1.WorkflowReference{Namespace: "default", ID: "cronjob/" + namespace + "/" + name}
}

// cronJob builds a CronJob of generation 1 that its workflow has not taken.
func cronJob(edits ...func(*ostinatov1.CronJob)) *ostinatov1.CronJob {
	c := &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "report", UID: "c1", Generation: 1, CreationTimestamp: *at(0)},
		Spec: ostinatov1.CronJobSpec{
			Schedule:    "* * * * *",
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate()}},
		},
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

// taken marks the present generation as taken by the workflow.
func taken(c *ostinatov1.CronJob) {
	reference := referenceFor(c.Namespace, c.Name)
	c.Status.Workflow = &reference
	c.Status.ObservedGeneration = c.Generation
}

func generation(g int64) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) { c.Generation = g }
}

func nextRun(seconds int) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime = at(seconds) }
}

func active(uids ...string) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) {
		for _, uid := range uids {
			c.Status.Active = append(c.Status.Active, corev1.ObjectReference{Name: "report-" + uid, UID: types.UID(uid)})
		}
	}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyOnFailure,
		Containers:    []corev1.Container{{Name: "main", Image: "secret-image", Command: []string{"secret-command"}}},
	}}
}

// standalone builds a managed Job of generation 1 without an owner.
func standalone(edits ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "import", UID: "j1", Generation: 1, CreationTimestamp: *at(0)},
		Spec:       batchv1.JobSpec{ManagedBy: ptr.To(names.JobController), Template: podTemplate()},
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

// missed is a Job that is new for a minute: the watch of new Jobs has not started its workflow.
func missed(j *batchv1.Job) { j.CreationTimestamp = *at(-60) }

// run builds a managed Job that the CronJob c1 controls.
func run(uid string, edits ...func(*batchv1.Job)) *batchv1.Job {
	return standalone(append([]func(*batchv1.Job){func(j *batchv1.Job) {
		j.Name, j.UID = "report-"+uid, types.UID(uid)
		j.Annotations = map[string]string{names.ScheduledTimestampAnnotation: start.Format(time.RFC3339)}
		j.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "batch.ostinato.dev/v1", Kind: "CronJob", Name: "report", UID: "c1", Controller: ptr.To(true),
		}}
	}}, edits...)...)
}

func running(j *batchv1.Job) { j.Status.StartTime = at(1) }

func suspended(j *batchv1.Job) {
	j.Spec.Suspend = ptr.To(true)
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue})
}

func edited(j *batchv1.Job) { j.Generation++ }

func complete(j *batchv1.Job) {
	running(j)
	j.Status.Succeeded = 1
	j.Status.CompletionTime = at(20)
	j.Status.Conditions = append(j.Status.Conditions,
		batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: *at(20)})
}

func failed(j *batchv1.Job) {
	running(j)
	j.Status.Failed = 2
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
		Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "too often", LastTransitionTime: *at(30),
	})
}

// foreign makes the Job one that only take-over makes ours.
func foreign(j *batchv1.Job) { j.Spec.ManagedBy = nil }

// managedBy makes the Job one for the controller of that name.
func managedBy(name string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.ManagedBy = &name }
}

// setting annotates the Job.
func setting(annotation, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { metav1.SetMetaDataAnnotation(&j.ObjectMeta, annotation, value) }
}

// statusBy notes that a manager wrote the status.
func statusBy(manager string, seconds int) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.ManagedFields = append(j.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: "status", Time: at(seconds), FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`),
		})
	}
}

// ofNativeCronJob makes the Job a child of a CronJob of batch/v1.
func ofNativeCronJob(j *batchv1.Job) {
	j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "native", UID: "n1", Controller: ptr.To(true)}}
}
