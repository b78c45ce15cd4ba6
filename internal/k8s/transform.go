package k8s

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// maxAnnotation bounds what is kept of an annotation's value, in bytes: every value that can be read is shorter.
	maxAnnotation = 64
	// maxReference bounds the texts of an owner reference, which the API server takes in any length. No object has a longer name.
	maxReference = 253
	// maxLabels bounds the labels that are kept of a Pod, and maxLabelKey their keys, in bytes.
	maxLabels, maxLabelKey = 64, 128
	// maxContainers bounds the containers of either kind that are kept of a Pod.
	maxContainers = 100
)

// labelsCut is set on a Pod as TrimPod leaves it whose labels are not all kept.
const labelsCut = "ostinato.dev/labels-cut"

// LabelsCut reports whether TrimPod has left out labels that a selector might need.
func LabelsCut(pod *corev1.Pod) bool { return pod.Annotations[labelsCut] != "" }

// TrimPod is an informer transform: it keeps what PodFact and PodWatch read of a Pod, a small part of its size. Objects of
// other types pass through unchanged.
func TrimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: trimPodMeta(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName:       pod.Spec.NodeName,
			RestartPolicy:  pod.Spec.RestartPolicy,
			InitContainers: trimInitContainers(pod.Spec.InitContainers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                clip.Text(pod.Status.Reason, maxReason),
			Message:               clip.Message(pod.Status.Message),
			Conditions:            trimConditions(pod.Status),
			ContainerStatuses:     trimStatuses(pod.Status.ContainerStatuses, pod.Status.Phase),
			InitContainerStatuses: trimStatuses(pod.Status.InitContainerStatuses, pod.Status.Phase),
		},
	}, nil
}

func trimPodMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := TrimMeta(meta)
	trimmed.DeletionGracePeriodSeconds, trimmed.ManagedFields = meta.DeletionGracePeriodSeconds, trimManagedFields(meta.ManagedFields)
	// These are the annotations that PodFact reads.
	KeepAnnotations(&trimmed, meta.Annotations, batchv1.JobCompletionIndexAnnotation, batchv1.JobIndexFailureCountAnnotation,
		batchv1.JobIndexIgnoredFailureCountAnnotation, names.EvidenceAnnotation, names.RemovedAnnotation)
	if slices.Contains(meta.Finalizers, names.TrackingFinalizer) {
		trimmed.Finalizers = []string{names.TrackingFinalizer}
	}
	var cut bool
	if trimmed.Labels, cut = trimLabels(meta.Labels, trimmed.OwnerReferences); cut || meta.Annotations[labelsCut] != "" {
		metav1.SetMetaDataAnnotation(&trimmed, labelsCut, "true")
	}
	return trimmed
}

// TrimMeta keeps the identity, version and times of an object, and the reference to its controller.
func TrimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
		OwnerReferences: TrimOwners(&meta),
	}
}

// KeepAnnotations copies the annotations of these names, as far as they can be read.
func KeepAnnotations(trimmed *metav1.ObjectMeta, annotations map[string]string, keep ...string) {
	for _, annotation := range keep {
		if value, ok := annotations[annotation]; ok {
			metav1.SetMetaDataAnnotation(trimmed, annotation, clip.Text(value, maxAnnotation))
		}
	}
}

// TrimOwners keeps the reference to an object's controller.
func TrimOwners(object metav1.Object) []metav1.OwnerReference {
	controller := metav1.GetControllerOf(object)
	if controller == nil {
		return nil
	}
	controller.APIVersion, controller.Kind = clip.Text(controller.APIVersion, maxReference), clip.Text(controller.Kind, maxReference)
	controller.Name, controller.UID = clip.Text(controller.Name, maxReference), types.UID(clip.Text(string(controller.UID), maxReference))
	return []metav1.OwnerReference{*controller}
}

// trimLabels keeps what tells whether the Pod belongs to its Job (claim.HasUIDLabel): two labels for nearly every Pod. A Pod
// that a Job controls without that label may match a selector of the Job's own, so it keeps all labels, or, if they are too
// many, none of them (cut). A Pod without a controller is read again where more matters.
func trimLabels(labels map[string]string, owners []metav1.OwnerReference) (trimmed map[string]string, cut bool) {
	controlled := len(owners) > 0
	unproven := controlled && labels[batchv1.ControllerUidLabel] != string(owners[0].UID)
	if unproven {
		// Few labels are such as people give to a Pod.
		few := len(labels) <= maxLabels
		for key := range labels {
			few = few && len(key) <= maxLabelKey
		}
		if few {
			return labels, false
		}
	}
	keys := []string{batchv1.ControllerUidLabel, names.WatchBucketLabel}
	if !controlled {
		// They say whether a Job may claim it (claim.IsLeftAlone).
		keys = append(keys, batchv1.JobNameLabel)
	}
	trimmed = make(map[string]string, len(keys))
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			trimmed[key] = value
		}
	}
	return trimmed, unproven
}

// trimInitContainers keeps which init containers are restartable.
func trimInitContainers(containers []corev1.Container) (trimmed []corev1.Container) {
	for _, container := range containers {
		if container.RestartPolicy != nil && len(trimmed) < maxContainers {
			trimmed = append(trimmed, corev1.Container{Name: container.Name, RestartPolicy: container.RestartPolicy})
		}
	}
	return trimmed
}

func trimConditions(status corev1.PodStatus) (trimmed []corev1.PodCondition) {
	for _, condition := range status.Conditions {
		if !keepsCondition(condition, status.Phase) || len(trimmed) == maxConditions {
			continue
		}
		small := corev1.PodCondition{
			Type:               condition.Type,
			Status:             condition.Status,
			Reason:             clip.Text(condition.Reason, maxReason),
			LastTransitionTime: condition.LastTransitionTime,
		}
		if condition.Type == corev1.PodScheduled && status.Phase == corev1.PodPending {
			small.Message = clip.Message(condition.Message)
		}
		trimmed = append(trimmed, small)
	}
	return trimmed
}

func trimStatuses(statuses []corev1.ContainerStatus, phase corev1.PodPhase) (trimmed []corev1.ContainerStatus) {
	for _, status := range statuses[:min(len(statuses), maxContainers)] {
		trimmed = append(trimmed, corev1.ContainerStatus{
			Name:                 status.Name,
			RestartCount:         status.RestartCount,
			State:                trimState(status.State, phase),
			LastTerminationState: trimState(status.LastTerminationState, phase),
		})
	}
	return trimmed
}

// trimState keeps when a container started and how it ended, and what it waits for while the Pod has not started.
func trimState(state corev1.ContainerState, phase corev1.PodPhase) (trimmed corev1.ContainerState) {
	switch {
	case state.Terminated != nil:
		trimmed.Terminated = &corev1.ContainerStateTerminated{
			ExitCode:   state.Terminated.ExitCode,
			Signal:     state.Terminated.Signal,
			Reason:     clip.Text(state.Terminated.Reason, maxReason),
			Message:    clip.Message(state.Terminated.Message),
			StartedAt:  state.Terminated.StartedAt,
			FinishedAt: state.Terminated.FinishedAt,
		}
	case state.Running != nil:
		trimmed.Running = &corev1.ContainerStateRunning{StartedAt: state.Running.StartedAt}
	case state.Waiting != nil && phase == corev1.PodPending:
		trimmed.Waiting = &corev1.ContainerStateWaiting{
			Reason:  clip.Text(state.Waiting.Reason, maxReason),
			Message: clip.Message(state.Waiting.Message),
		}
	}
	return trimmed
}
