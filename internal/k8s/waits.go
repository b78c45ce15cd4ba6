package k8s

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/times"
)

// Wait is what keeps a container of a Pod from starting that is to start now.
type Wait struct {
	// Reason says what it amounts to.
	Reason job.PendingReason
	// Word is Kubernetes' own, such as ImagePullBackOff, and Message says more; one of them may be empty.
	Word, Message string
	// Since is since when the container could have started: the Pod was created, or what has to come before it has come.
	Since time.Time
	// Failed: Word names a failure. Otherwise the Pod may just be slow.
	Failed bool
	// ours: Message is Ostinato's.
	ours bool
}

// Text is Word and Message, as long as they are.
func (w Wait) Text() string {
	if w.Word == "" || w.Message == "" {
		return w.Word + w.Message
	}
	return w.Word + ": " + w.Message
}

// text bounds the text, and leaves out Kubernetes' message unless full is set.
func (w Wait) text(full bool) string {
	if !full && !w.ours {
		w.Message = ""
	}
	w.Word = clip.Text(w.Word, maxReason)
	return clip.Message(w.Text())
}

// WaitOf says what a Pod in phase Pending waits for. waits is false if each container that is to start has started: the others
// have to wait for it. An init container has to end first, a restartable one only to start.
func WaitOf(pod *corev1.Pod) (wait Wait, waits bool) {
	if pod.Status.Phase != corev1.PodPending {
		return Wait{}, false
	}
	since, restartable := pod.CreationTimestamp.UTC(), restartableOf(pod)
	for status := range pointers(pod.Status.InitContainerStatuses) {
		running, ended := status.State.Running, status.State.Terminated
		switch {
		case !hasStarted(status) && (ended == nil || ended.ExitCode != 0):
			return waitFor(pod, status.State.Waiting, since), true
		case restartable[status.Name] && running != nil:
			since = times.Later(since, running.StartedAt.UTC())
		case !restartable[status.Name] && ended != nil && ended.ExitCode == 0:
			since = times.Later(since, ended.FinishedAt.UTC())
		default:
			return Wait{}, false
		}
	}
	var waiting *corev1.ContainerStateWaiting
	for status := range pointers(pod.Status.ContainerStatuses) {
		if hasStarted(status) {
			continue
		}
		if waits = true; explained(waiting) == "" {
			waiting = cmp.Or(status.State.Waiting, waiting)
		}
	}
	if !waits && len(pod.Status.ContainerStatuses) > 0 {
		return Wait{}, false
	}
	return waitFor(pod, waiting, since), true
}

// waitFor says why a container waits of which the kubelet says this, nil for nothing.
func waitFor(pod *corev1.Pod, waiting *corev1.ContainerStateWaiting, since time.Time) Wait {
	wait := Wait{Since: since}
	if waiting != nil {
		wait.Word, wait.Message = waiting.Reason, waiting.Message
	}
	switch reason := explained(waiting); {
	case reason != "":
		wait.Reason, wait.Failed = reason, true
	case pod.Spec.NodeName == "":
		wait.Reason, wait.Word, wait.Message, wait.ours = job.PendingUnschedulable, "", "no node has been assigned yet", true
		if condition := podCondition(pod, corev1.PodScheduled, corev1.ConditionFalse); condition != nil {
			wait.Word, wait.Message, wait.ours = condition.Reason, condition.Message, false
		}
	case waiting == nil:
		wait.Reason, wait.ours = job.PendingLost, true
		wait.Message = fmt.Sprintf("node %s has not reported anything about the Pod", pod.Spec.NodeName)
	case podCondition(pod, corev1.PodReadyToStartContainers, corev1.ConditionTrue) != nil:
		// The kubelet has a word for failures only. It pulls images once the Pod's sandbox, network and volumes are there.
		wait.Reason = job.PendingImagePull
	default:
		wait.Reason = job.PendingConfigError
	}
	return wait
}

// explained says what the kubelet's reason for which a container waits amounts to; empty where it does not tell.
func explained(waiting *corev1.ContainerStateWaiting) job.PendingReason {
	if waiting == nil {
		return ""
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed":
		return job.PendingImagePull
	case "CreateContainerConfigError", "CreateContainerError", "PreCreateHookError", "PreStartHookError", "RunContainerError",
		"PostStartHookError":
		return job.PendingConfigError
	}
	return ""
}

func hasStarted(status *corev1.ContainerStatus) bool {
	return status.State.Running != nil || len(starts(*status)) > 0
}

// restartableOf are the names of the init containers that run beside the others: sidecars.
func restartableOf(pod *corev1.Pod) map[string]bool {
	restartable := make(map[string]bool, len(pod.Spec.InitContainers))
	for _, container := range pod.Spec.InitContainers {
		restartable[container.Name] = ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
	}
	return restartable
}
