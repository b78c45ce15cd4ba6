package k8s

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// waitingReasons says what a container's waiting reason, as the kubelet gives it,
// amounts to.
var waitingReasons = map[string]job.PendingReason{
	"ErrImagePull":              job.PendingImagePull,
	"ImagePullBackOff":          job.PendingImagePull,
	"ErrImageNeverPull":         job.PendingImagePull,
	"InvalidImageName":          job.PendingImagePull,
	"ImageInspectError":         job.PendingImagePull,
	"RegistryUnavailable":       job.PendingImagePull,
	"SignatureValidationFailed": job.PendingImagePull,

	"CreateContainerConfigError": job.PendingConfigError,
	"CreateContainerError":       job.PendingConfigError,
	"PreCreateHookError":         job.PendingConfigError,
	"PreStartHookError":          job.PendingConfigError,
	"RunContainerError":          job.PendingConfigError,
	"PostStartHookError":         job.PendingConfigError,
}

// pending says why a Pod in phase Pending has not started, and in whose words; it
// is empty once a container has started, an init container included.
func pending(pod *corev1.Pod) (reason job.PendingReason, message string) {
	var waiting *corev1.ContainerStateWaiting
	for status := range statuses(pod) {
		if hasStarted(*status) {
			return "", ""
		}
		if found := status.State.Waiting; found != nil && (waiting == nil || waitingReasons[waiting.Reason] == "") {
			waiting = found
		}
	}
	switch {
	case waiting != nil && waitingReasons[waiting.Reason] != "":
		return waitingReasons[waiting.Reason], describe(waiting.Reason, waiting.Message)
	case pod.Spec.NodeName == "":
		return job.PendingUnschedulable, unscheduled(pod)
	case waiting != nil:
		return preparing(pod, *waiting)
	}
	return job.PendingLost, bounded(fmt.Sprintf("node %s has not reported anything about the Pod", pod.Spec.NodeName), maxMessage)
}

// hasStarted reports whether the container runs or has run.
func hasStarted(status corev1.ContainerStatus) bool {
	return status.State.Running != nil || len(starts(status)) > 0
}

// unscheduled returns the scheduler's words on a Pod without a node.
func unscheduled(pod *corev1.Pod) string {
	if condition := podCondition(pod, corev1.PodScheduled, corev1.ConditionFalse); condition != nil {
		return describe(condition.Reason, condition.Message)
	}
	return "no node has been assigned yet"
}

// preparing tells what the kubelet does, which has a name for failures only: until
// the Pod's sandbox, network and volumes are there it can't start any container, and
// then it pulls images.
func preparing(pod *corev1.Pod, waiting corev1.ContainerStateWaiting) (job.PendingReason, string) {
	if podCondition(pod, corev1.PodReadyToStartContainers, corev1.ConditionTrue) != nil {
		return job.PendingImagePull, describe(waiting.Reason, waiting.Message)
	}
	return job.PendingConfigError, describe(waiting.Reason, waiting.Message)
}

func describe(reason, message string) string {
	reason = bounded(reason, maxReason)
	switch {
	case message == "":
		return reason
	case reason == "":
		return Bounded(message)
	}
	return Bounded(reason + ": " + message)
}
