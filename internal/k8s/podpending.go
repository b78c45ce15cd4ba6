package k8s

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// waitingReasons says what the kubelet's reasons for which a container waits amount to.
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

// pending says why a Pod in phase Pending has not started, and in whose words: with their message if full is set. It is
// empty once a container has started, an init container included.
func pending(pod *corev1.Pod, full bool) (job.PendingReason, string) {
	var waiting *corev1.ContainerStateWaiting
	for status := range statuses(pod) {
		if status.State.Running != nil || len(starts(*status)) > 0 {
			return "", ""
		}
		if found := status.State.Waiting; found != nil && (waiting == nil || waitingReasons[waiting.Reason] == "") {
			waiting = found
		}
	}
	describe := func(reason, message string) string {
		reason = Truncated(reason, maxReason)
		switch {
		case message == "" || !full:
			return reason
		case reason == "":
			return Bounded(message)
		}
		return Bounded(reason + ": " + message)
	}
	switch {
	case waiting != nil && waitingReasons[waiting.Reason] != "":
		return waitingReasons[waiting.Reason], describe(waiting.Reason, waiting.Message)
	case pod.Spec.NodeName == "":
		if condition := podCondition(pod, corev1.PodScheduled, corev1.ConditionFalse); condition != nil {
			return job.PendingUnschedulable, describe(condition.Reason, condition.Message)
		}
		return job.PendingUnschedulable, "no node has been assigned yet"
	case waiting == nil:
		return job.PendingLost, Bounded(fmt.Sprintf("node %s has not reported anything about the Pod", pod.Spec.NodeName))
	case podCondition(pod, corev1.PodReadyToStartContainers, corev1.ConditionTrue) != nil:
		// The kubelet has a word for failures only. It pulls images once the Pod's sandbox, network and volumes are there.
		return job.PendingImagePull, describe(waiting.Reason, waiting.Message)
	}
	return job.PendingConfigError, describe(waiting.Reason, waiting.Message)
}
