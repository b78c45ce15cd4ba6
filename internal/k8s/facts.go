package k8s

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// maxMessage bounds PodFact.Message, in bytes, and what the informer keeps.
const maxMessage = 256

// PodFact reads a Pod, whole or as TrimPod leaves it, into what the Job
// workflow needs to know of it.
func PodFact(pod *corev1.Pod) job.PodFact {
	fact := job.PodFact{
		Name:     pod.Name,
		UID:      string(pod.UID),
		Index:    completionIndex(pod),
		Phase:    pod.Status.Phase,
		Deleting: pod.DeletionTimestamp != nil,
		Tracked:  Tracked(pod),
		Restarts: restarts(pod),
	}
	// A deleted Pod counts as failed before it has ended (parity 2.6), so its
	// back-off needs a finish time too.
	if fact.Terminal() || fact.Deleting {
		fact.Finished = finishTime(pod)
	}
	if !fact.Terminal() {
		fact.Ready = podCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil
	}
	if failure := firstFailure(pod); failure != nil {
		fact.ExitCode, fact.Reason, fact.Message = failure.ExitCode, failure.Reason, failure.Message
	} else if fact.Phase == corev1.PodFailed {
		fact.Reason, fact.Message = pod.Status.Reason, pod.Status.Message
	}
	fact.Message = Bounded(fact.Message)
	return fact
}

// Tracked reports whether the Pod carries the tracking finalizer.
func Tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, names.TrackingFinalizer)
}

// completionIndex reads the annotation, as upstream does; nil for a Pod of a
// NonIndexed Job or a value that is not a number.
func completionIndex(pod *corev1.Pod) *int32 {
	value, err := strconv.ParseInt(pod.Annotations[batchv1.JobCompletionIndexAnnotation], 10, 32)
	if err != nil || value < 0 {
		return nil
	}
	index := int32(value)
	return &index
}

func restarts(pod *corev1.Pod) int32 {
	var sum int32
	for _, status := range pod.Status.InitContainerStatuses {
		sum += status.RestartCount
	}
	for _, status := range pod.Status.ContainerStatuses {
		sum += status.RestartCount
	}
	return sum
}

// firstFailure returns how the first container that failed ended, app containers
// before init containers (parity 2.14). While the Pod runs, a container that
// failed and was restarted counts too.
func firstFailure(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	statuses := slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
	for _, status := range statuses {
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return ended
		}
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	for _, status := range statuses {
		if ended := status.LastTerminationState.Terminated; ended != nil && ended.ExitCode != 0 {
			return ended
		}
	}
	return nil
}

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

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == kind && condition.Status == status {
			return condition
		}
	}
	return nil
}

// Bounded cuts a message to 256 bytes at a rune's border.
func Bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut]
}
