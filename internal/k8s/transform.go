package k8s

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/names"
)

// TrimPod is an informer transform: it keeps of a Pod what PodFact and the
// PodWatch read, a small part of the object's size. Objects of other types pass
// through unchanged.
func TrimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: trimMeta(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			RestartPolicy:  pod.Spec.RestartPolicy,
			InitContainers: trimInitContainers(pod.Spec.InitContainers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                pod.Status.Reason,
			Message:               Bounded(pod.Status.Message),
			Conditions:            trimConditions(pod.Status.Conditions),
			ContainerStatuses:     trimStatuses(pod.Status.ContainerStatuses),
			InitContainerStatuses: trimStatuses(pod.Status.InitContainerStatuses),
		},
	}, nil
}

func trimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := metav1.ObjectMeta{
		Name:                       meta.Name,
		Namespace:                  meta.Namespace,
		UID:                        meta.UID,
		ResourceVersion:            meta.ResourceVersion,
		CreationTimestamp:          meta.CreationTimestamp,
		DeletionTimestamp:          meta.DeletionTimestamp,
		DeletionGracePeriodSeconds: meta.DeletionGracePeriodSeconds,
	}
	if bucket, ok := meta.Labels[names.WatchBucketLabel]; ok {
		trimmed.Labels = map[string]string{names.WatchBucketLabel: bucket}
	}
	if index, ok := meta.Annotations[batchv1.JobCompletionIndexAnnotation]; ok {
		trimmed.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
	}
	if slices.Contains(meta.Finalizers, names.TrackingFinalizer) {
		trimmed.Finalizers = []string{names.TrackingFinalizer}
	}
	for _, owner := range meta.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			trimmed.OwnerReferences = []metav1.OwnerReference{owner}
		}
	}
	return trimmed
}

// trimInitContainers keeps which init containers are restartable.
func trimInitContainers(containers []corev1.Container) []corev1.Container {
	var trimmed []corev1.Container
	for _, container := range containers {
		if container.RestartPolicy != nil {
			trimmed = append(trimmed, corev1.Container{Name: container.Name, RestartPolicy: container.RestartPolicy})
		}
	}
	return trimmed
}

func trimConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	var trimmed []corev1.PodCondition
	for _, condition := range conditions {
		if condition.Type == corev1.PodReady || condition.Type == corev1.DisruptionTarget {
			trimmed = append(trimmed, corev1.PodCondition{
				Type:               condition.Type,
				Status:             condition.Status,
				Reason:             condition.Reason,
				LastTransitionTime: condition.LastTransitionTime,
			})
		}
	}
	return trimmed
}

func trimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var trimmed []corev1.ContainerStatus
	for _, status := range statuses {
		trimmed = append(trimmed, corev1.ContainerStatus{
			Name:                 status.Name,
			RestartCount:         status.RestartCount,
			State:                trimState(status.State),
			LastTerminationState: trimState(status.LastTerminationState),
		})
	}
	return trimmed
}

func trimState(state corev1.ContainerState) corev1.ContainerState {
	if state.Terminated == nil {
		return corev1.ContainerState{}
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode:   state.Terminated.ExitCode,
		Reason:     state.Terminated.Reason,
		Message:    Bounded(state.Terminated.Message),
		FinishedAt: state.Terminated.FinishedAt,
	}}
}
