package claim

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// Ours reports whether the Job is Ostinato's to reconcile: its managedBy names Ostinato, or Jobs are
// taken over and it names the built-in controller or, which means the same, no controller (parity 0.4).
func Ours(job *batchv1.Job, takeOver bool) bool {
	manager := ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName)
	return manager == names.JobController || takeOver && manager == batchv1.JobControllerName
}

// External returns the name of the controller that a Job is for, when that is neither the built-in one nor Ostinato.
func External(job *batchv1.Job) (name string, ok bool) {
	switch name = ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName); name {
	case batchv1.JobControllerName, names.JobController:
		return "", false
	}
	return name, true
}

// Finished returns the condition with which the Job ended; nil while it has not.
func Finished(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		condition := &job.Status.Conditions[i]
		if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			return condition
		}
	}
	return nil
}

// Selector returns the selector of a Job's Pods: spec.selector, or the label that the API server would put in.
func Selector(job *batchv1.Job) (labels.Selector, error) {
	if job.Spec.Selector == nil {
		return labels.SelectorFromSet(labels.Set{batchv1.ControllerUidLabel: string(job.UID)}), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read selector of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return selector, nil
}

// Matches reports whether the Pod's labels match the Job's selector.
func Matches(job *batchv1.Job, pod *corev1.Pod) (bool, error) {
	selector, err := Selector(job)
	return err == nil && selector.Matches(labels.Set(pod.Labels)), err
}

// CronJob is the CronJob that controls a Job, as the Job names it.
type CronJob struct {
	Name string
	UID  types.UID
	// Native: it is one of batch/v1, not of batch.ostinato.dev.
	Native bool
}

// CronJobOf returns the CronJob, of either group, that controls the Job.
func CronJobOf(job *batchv1.Job) (owner CronJob, ok bool) {
	reference := metav1.GetControllerOfNoCopy(job)
	if reference == nil || reference.Kind != ostinatov1.CronJobKind.Kind || reference.UID == "" {
		return CronJob{}, false
	}
	native := reference.APIVersion == batchv1.SchemeGroupVersion.String()
	if !native && reference.APIVersion != ostinatov1.GroupVersion.String() {
		return CronJob{}, false
	}
	return CronJob{Name: reference.Name, UID: reference.UID, Native: native}, true
}

// OfCronJob reports whether the CronJob with this name and UID, of the Job's namespace,
// controls the Job. A UID is of one object only, whichever group it is in.
func OfCronJob(job *batchv1.Job, name string, uid types.UID) bool {
	owner, ok := CronJobOf(job)
	return ok && owner.Name == name && owner.UID == uid
}
