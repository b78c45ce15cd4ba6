package k8s

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finishTime is when the Pod ended, by the first of upstream's rules that
// applies (parity 2.9): the latest end of its containers, when it stopped being
// ready, when its deletion was asked for, its creation.
func finishTime(pod *corev1.Pod) time.Time {
	if finished, ok := containersFinished(pod); ok {
		return finished
	}
	if condition := podCondition(pod, corev1.PodReady, corev1.ConditionFalse); condition != nil && !condition.LastTransitionTime.IsZero() {
		return condition.LastTransitionTime.UTC()
	}
	if pod.DeletionTimestamp != nil {
		var grace time.Duration
		if pod.DeletionGracePeriodSeconds != nil {
			grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
		}
		return pod.DeletionTimestamp.Add(-grace).UTC()
	}
	return pod.CreationTimestamp.UTC()
}

// containersFinished returns when the last app or restartable init container
// ended; ok is false while one of them has not, and without any status.
func containersFinished(pod *corev1.Pod) (finished time.Time, ok bool) {
	restartable := make(map[string]bool, len(pod.Spec.InitContainers))
	for _, container := range pod.Spec.InitContainers {
		restartable[container.Name] = container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	var last metav1.Time
	for _, status := range pod.Status.ContainerStatuses {
		if !ended(status, &last) {
			return time.Time{}, false
		}
	}
	for _, status := range pod.Status.InitContainerStatuses {
		if restartable[status.Name] && !ended(status, &last) {
			return time.Time{}, false
		}
	}
	return last.UTC(), !last.IsZero()
}

// ended reports whether the container has a finish time, and moves last to it
// when it is later.
func ended(status corev1.ContainerStatus, last *metav1.Time) bool {
	terminated := status.State.Terminated
	if terminated == nil || terminated.FinishedAt.IsZero() {
		return false
	}
	if last.Before(&terminated.FinishedAt) {
		*last = terminated.FinishedAt
	}
	return true
}
