package claim

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
)

// JobOf returns the name and UID of the batch/v1 Job that controls the Pod.
func JobOf(pod *corev1.Pod) (name string, uid types.UID, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "Job" || owner.APIVersion != batchv1.SchemeGroupVersion.String() || owner.UID == "" {
		return "", "", false
	}
	return owner.Name, owner.UID, true
}

// IsControlled reports whether the Pod has a controller, of whatever kind.
func IsControlled(pod *corev1.Pod) bool { return metav1.GetControllerOfNoCopy(pod) != nil }

// IsControlledBy reports whether the Pod's controller reference names this Job. Whether it is the Job's, Decide says.
func IsControlledBy(pod *corev1.Pod, name string, uid types.UID) bool {
	controller, controllerUID, ok := JobOf(pod)
	return ok && controller == name && controllerUID == uid
}

// Labelled returns the name and UID of the Job that the Pod's labels name, as the API server puts them into the template
// of a Job without a manual selector; empty for none. They are what is known of the Job of a Pod without a controller.
func Labelled(pod *corev1.Pod) (name string, uid types.UID) {
	return pod.Labels[batchv1.JobNameLabel], types.UID(pod.Labels[batchv1.ControllerUidLabel])
}

// IsLeftAlone reports whether Decide leaves a Pod without a controller alone whatever Jobs
// there are, as far as its labels name them: they name none, and there is nothing to release.
func IsLeftAlone(pod *corev1.Pod) bool {
	name, uid := Labelled(pod)
	return name == "" && uid == "" && !Tracked(pod) && !Ended(pod)
}

// HasUIDLabel reports whether the Pod carries the label with this Job's UID. Such a Pod matches the
// selector of its Job, unless that is a manual one (Matches).
func HasUIDLabel(pod *corev1.Pod, jobUID types.UID) bool {
	return jobUID != "" && pod.Labels[batchv1.ControllerUidLabel] == string(jobUID)
}

// Watched reports whether the Pod carries the label by which PodWatch sees it.
func Watched(pod *corev1.Pod) bool {
	_, labelled := pod.Labels[names.WatchBucketLabel]
	return labelled
}

// Tracked reports whether the Pod carries the tracking finalizer.
func Tracked(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, names.TrackingFinalizer) }

// Ended reports whether the Pod can't run any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
