package k8s

import (
	"iter"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// maxReason bounds reasons, which are one word where Kubernetes gives them.
	maxReason = 128
	// maxExits and maxConditions bound what facts hold of a Pod with very many.
	maxExits      = 100
	maxConditions = 64
	// maxConditionTexts bounds the conditions of a Pod in sum, in bytes.
	maxConditionTexts = 8 << 10
	// maxConditionType is the longest type that a rule of spec.podFailurePolicy can name: a DNS subdomain, a slash and a name.
	maxConditionType = 253 + 1 + 63
)

// PodFact reads a Pod, whole or as TrimPod leaves it, into what the Job workflow needs to know of it,
// without messages where the Pod's annotation asks for that (evidence.Of).
func PodFact(pod *corev1.Pod) job.PodFact {
	_, removed := pod.Annotations[names.RemovedAnnotation]
	fact := job.PodFact{
		Name:     pod.Name,
		UID:      string(pod.UID),
		Index:    count(pod, batchv1.JobCompletionIndexAnnotation),
		Version:  version(pod),
		Phase:    pod.Status.Phase,
		Deleting: pod.DeletionTimestamp != nil,
		Tracked:  claim.Tracked(pod),
		Failures: ptr.Deref(count(pod, batchv1.JobIndexFailureCountAnnotation), 0),
		Ignored:  ptr.Deref(count(pod, batchv1.JobIndexIgnoredFailureCountAnnotation), 0),
		Node:     pod.Spec.NodeName,
		Started:  inUTC(startTime(pod)),
		Attempt:  attempt(pod),
		// Ostinato has taken the tracking finalizer off in order to remove the Pod. The annotation alone, which a template may
		// carry, says nothing.
		Removed: removed && !claim.Tracked(pod),
	}
	if fact.Removed && fact.Ended() {
		// Nothing is decided from how it ended, and a suspension ends thousands.
		fact.Node, fact.Started = "", time.Time{}
		return fact
	}
	for status := range statuses(pod) {
		fact.Restarts += status.RestartCount
	}
	// A deleted Pod counts as failed before it has ended (parity 2.6), so its back-off needs a finish time too.
	if fact.Ended() || fact.Deleting {
		fact.Finished = inUTC(finishTime(pod))
	}
	if !fact.Ended() {
		fact.Ready = podCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil
	}
	if container, failure := firstFailure(pod); failure != nil {
		fact.Container, fact.ExitCode, fact.Signal = container, failure.ExitCode, failure.Signal
		fact.Reason, fact.Message = failure.Reason, failure.Message
	}
	// An eviction, say, ends a container by a signal, of which the container's own reason is only that it failed.
	if fact.Phase == corev1.PodFailed && (fact.Container == "" || pod.Status.Reason != "" && saysLittle(fact.Reason)) {
		fact.Reason, fact.Message = pod.Status.Reason, pod.Status.Message
	}
	full := evidence.Of(pod.Annotations) == evidence.Full
	if !full {
		fact.Message = ""
	}
	fact.Reason, fact.Message = clip.Text(fact.Reason, maxReason), clip.Message(fact.Message)
	if !fact.Ended() && podCondition(pod, corev1.DisruptionTarget, corev1.ConditionTrue) != nil {
		fact.Conditions = []string{string(corev1.DisruptionTarget) + "=" + string(corev1.ConditionTrue)}
	}
	switch fact.Phase {
	case corev1.PodFailed:
		fact.Exits, fact.Conditions = exits(pod), conditions(pod)
	case corev1.PodPending:
		if wait, waits := WaitOf(pod); waits {
			fact.Pending, fact.PendingMessage = wait.Reason, wait.text(full)
			if wait.Since.After(pod.CreationTimestamp.Time) {
				fact.PendingSince = wait.Since
			}
		}
	}
	return fact
}

// attempt is the number that Ostinato made the Pod's name from; 0 for a Pod that it did not make, or that no Job controls.
func attempt(pod *corev1.Pod) int64 {
	if owner, uid, ok := claim.JobOf(pod); ok && !MadeElsewhere(pod) {
		if attempt, ok := names.PodAttempt(owner, string(uid), pod.Name); ok {
			return attempt
		}
	}
	return 0
}

// version reads the resourceVersion, which can be compared (KEP-5504).
func version(pod *corev1.Pod) int64 {
	if version, err := strconv.ParseInt(pod.ResourceVersion, 10, 64); err == nil {
		return max(version, 0)
	}
	return 0
}

// count reads an annotation that counts, as upstream does; nil where it is missing or no count (parity 2.14).
func count(pod *corev1.Pod, annotation string) *int32 {
	value, err := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
	if err != nil || value < 0 {
		return nil
	}
	return ptr.To(int32(value))
}

// startTime is when the first app container started, by the statuses; zero before.
func startTime(pod *corev1.Pod) (first time.Time) {
	for _, status := range pod.Status.ContainerStatuses {
		for _, started := range starts(status) {
			if first.IsZero() || started.Before(first) {
				first = started
			}
		}
	}
	return first
}

// starts returns when the container is known to have started.
func starts(status corev1.ContainerStatus) (times []time.Time) {
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		switch {
		case state.Running != nil && !state.Running.StartedAt.IsZero():
			times = append(times, state.Running.StartedAt.UTC())
		// A container that could not be started has ended, with the epoch as its start.
		case state.Terminated != nil && state.Terminated.StartedAt.Unix() > 0:
			times = append(times, state.Terminated.StartedAt.UTC())
		}
	}
	return times
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) *corev1.PodCondition {
	for condition := range pointers(pod.Status.Conditions) {
		if condition.Type == kind && condition.Status == status {
			return condition
		}
	}
	return nil
}

// statuses yields the containers' statuses in the order of spec.podFailurePolicy: app containers
// before init containers (parity 2.14).
func statuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return pointers(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
}

// firstFailure returns the first container that failed and how it ended; nil when
// none did. While the Pod runs, a container that failed and was restarted counts too.
func firstFailure(pod *corev1.Pod) (container string, failure *corev1.ContainerStateTerminated) {
	for status := range statuses(pod) {
		switch {
		case failed(status.State):
			return status.Name, status.State.Terminated
		case failure == nil && !claim.Ended(pod) && failed(status.LastTerminationState):
			container, failure = status.Name, status.LastTerminationState.Terminated
		}
	}
	return container, failure
}

// saysLittle reports whether a container's reason says no more than that it failed.
func saysLittle(reason string) bool {
	return reason == "" || reason == "Error" || reason == "ContainerStatusUnknown"
}

func failed(state corev1.ContainerState) bool {
	return state.Terminated != nil && state.Terminated.ExitCode != 0
}

func exits(pod *corev1.Pod) (exits []job.Exit) {
	for status := range statuses(pod) {
		if failed(status.State) && len(exits) < maxExits {
			exits = append(exits, job.Exit{Container: status.Name, Code: status.State.Terminated.ExitCode})
		}
	}
	return exits
}

func conditions(pod *corev1.Pod) (conditions []string) {
	left := maxConditionTexts
	for _, condition := range pod.Status.Conditions {
		if !keepsCondition(condition, pod.Status.Phase) || len(conditions) == maxConditions {
			continue
		}
		text := string(condition.Type) + "=" + string(condition.Status)
		if left -= len(text); left < 0 {
			break
		}
		conditions = append(conditions, text)
	}
	return conditions
}

// keepsCondition reports whether a fact includes the condition.
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
	restartable := restartableOf(pod)
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
