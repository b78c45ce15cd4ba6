package parity

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What follows is the kubelet's part, done when a case asks for it: which of its
// Pods ends, how, and when. Such Pods run for ever otherwise (runForever).

// succeed ends Pods with exit code 0.
func succeed(pick selection) act { return to(pick, ending("", 0)) }

// fail ends Pods: their first container with the exit code.
func fail(code int32, pick selection) act { return to(pick, ending("", code)) }

// failContainer ends Pods: the container, which may be an init container, with
// the exit code, the other ones well.
func failContainer(name string, code int32, pick selection) act { return to(pick, ending(name, code)) }

func ending(name string, code int32) func(context.Context, *corev1.Pod) error {
	return func(ctx context.Context, pod *corev1.Pod) error {
		container := name
		if container == "" {
			container = pod.Spec.Containers[0].Name
		}
		now := metav1.NewTime(time.Now().Truncate(time.Second))
		status := map[string]any{"phase": corev1.PodSucceeded}
		reason := "PodCompleted"
		if code != 0 {
			status["phase"], reason = corev1.PodFailed, "PodFailed"
		}
		status["conditions"] = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: now},
			{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: now},
		}
		containers, failedBefore := endedContainers(pod.Status.InitContainerStatuses, container, code, now, false)
		status["initContainerStatuses"] = containers
		status["containerStatuses"], _ = endedContainers(pod.Status.ContainerStatuses, container, code, now, failedBefore)
		return patchPodStatus(ctx, pod, status)
	}
}

// endedContainers returns the statuses of containers that ended, the named one
// with the code, and whether it is among them. Containers that wait for it never started.
func endedContainers(statuses []corev1.ContainerStatus, name string, code int32, now metav1.Time, waiting bool) ([]corev1.ContainerStatus, bool) {
	var result []corev1.ContainerStatus
	found := false
	for _, status := range statuses {
		end := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}
		if status.Name == name {
			found = true
			end.ExitCode = code
			if code != 0 {
				end.Reason = "Error"
			}
		}
		status.Ready, status.Started = false, nil
		status.State = corev1.ContainerState{Terminated: end}
		if waiting {
			status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		}
		result = append(result, status)
	}
	return result, found
}

// mark gives Pods a condition.
func mark(condition corev1.PodConditionType, is corev1.ConditionStatus, pick selection) act {
	return to(pick, func(ctx context.Context, pod *corev1.Pod) error {
		return patchPodStatus(ctx, pod, map[string]any{"conditions": []corev1.PodCondition{
			{Type: condition, Status: is, Reason: "Test", LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second))},
		}})
	})
}

// becomes changes nothing but the phase of Pods.
func becomes(phase corev1.PodPhase, pick selection) act {
	return to(pick, func(ctx context.Context, pod *corev1.Pod) error {
		return patchPodStatus(ctx, pod, map[string]any{"phase": phase})
	})
}
