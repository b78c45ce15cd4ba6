package k8s

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
)

const (
	// maxExits and maxConditions bound what facts hold of a Pod with very many.
	maxExits      = 100
	maxConditions = 64
	// maxConditionTexts bounds the conditions of a Pod in sum, in bytes.
	maxConditionTexts = 8 << 10
	// maxConditionType is the longest type that a rule of spec.podFailurePolicy can
	// name: a DNS subdomain, a slash and a name.
	maxConditionType = 253 + 1 + 63
)

// statuses yields the containers' statuses in the order of spec.podFailurePolicy: app containers
// before init containers (parity 2.14).
func statuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return pointers(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
}

// firstFailure returns the first container that failed and how it ended; nil when
// none did. While the Pod runs, a container that failed and was restarted counts too.
func firstFailure(pod *corev1.Pod) (container string, failure *corev1.ContainerStateTerminated) {
	for status := range statuses(pod) {
		if failed(status.State) {
			return status.Name, status.State.Terminated
		}
	}
	if claim.Ended(pod) {
		return "", nil
	}
	for status := range statuses(pod) {
		if failed(status.LastTerminationState) {
			return status.Name, status.LastTerminationState.Terminated
		}
	}
	return "", nil
}

func failed(state corev1.ContainerState) bool {
	return state.Terminated != nil && state.Terminated.ExitCode != 0
}

// exits returns how the containers ended that failed.
func exits(pod *corev1.Pod) []job.Exit {
	var exits []job.Exit
	for status := range statuses(pod) {
		if failed(status.State) && len(exits) < maxExits {
			exits = append(exits, job.Exit{Container: status.Name, Code: status.State.Terminated.ExitCode})
		}
	}
	return exits
}

// conditions returns the Pod's conditions as "Type=Status".
func conditions(pod *corev1.Pod) []string {
	var conditions []string
	room := maxConditionTexts
	for _, condition := range pod.Status.Conditions {
		if !keepsCondition(condition, pod.Status.Phase) || len(conditions) == maxConditions {
			continue
		}
		text := string(condition.Type) + "=" + string(condition.Status)
		if room -= len(text); room < 0 {
			break
		}
		conditions = append(conditions, text)
	}
	return conditions
}

// keepsCondition reports whether a fact may tell of the condition.
func keepsCondition(condition corev1.PodCondition, phase corev1.PodPhase) bool {
	switch condition.Type {
	case corev1.PodReady, corev1.DisruptionTarget, corev1.PodScheduled:
		return true
	case corev1.PodReadyToStartContainers:
		return phase == corev1.PodPending || phase == corev1.PodFailed
	}
	return phase == corev1.PodFailed && len(condition.Type) <= maxConditionType
}

// finishTime is when the Pod ended, by the first of upstream's rules that applies (parity 2.9): the
// latest end of its containers, the end of its readiness, the request to delete it, its creation.
func finishTime(pod *corev1.Pod) time.Time {
	if finished, ok := containersFinished(pod); ok {
		return finished
	}
	if condition := podCondition(pod, corev1.PodReady, corev1.ConditionFalse); condition != nil && !condition.LastTransitionTime.IsZero() {
		return condition.LastTransitionTime.UTC()
	}
	if pod.DeletionTimestamp != nil {
		grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
		return pod.DeletionTimestamp.Add(-grace).UTC()
	}
	return pod.CreationTimestamp.UTC()
}

// containersFinished returns when the last app or restartable init container
// ended; ok is false while one of them has not, and without any status.
func containersFinished(pod *corev1.Pod) (finished time.Time, ok bool) {
	restartable := make(map[string]bool, len(pod.Spec.InitContainers))
	for _, container := range pod.Spec.InitContainers {
		restartable[container.Name] = ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
	}
	sidecars := slices.DeleteFunc(slices.Clone(pod.Status.InitContainerStatuses), func(status corev1.ContainerStatus) bool { return !restartable[status.Name] })
	for status := range pointers(pod.Status.ContainerStatuses, sidecars) {
		terminated := status.State.Terminated
		if terminated == nil || terminated.FinishedAt.IsZero() {
			return time.Time{}, false
		}
		if terminated.FinishedAt.After(finished) {
			finished = terminated.FinishedAt.UTC()
		}
	}
	return finished, !finished.IsZero()
}
