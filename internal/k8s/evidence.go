package k8s

import (
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/evidence"
	"ostinato.dev/ostinato/internal/names"
)

// LimitEvidence makes a Pod that is to be created say that no more of it may be kept
// than the level: what its Job and its namespace ask for is then known wherever
// the Pod is, without a further request.
func LimitEvidence(pod *corev1.Pod, level evidence.Level) {
	if level > evidence.Of(pod.Annotations) {
		pod.Annotations = with(pod.Annotations, names.EvidenceAnnotation, level.String())
	}
}

// withoutMessages returns a copy of the Pod without what evidence.Reason leaves out.
func withoutMessages(pod *corev1.Pod) *corev1.Pod {
	silent := pod.DeepCopy()
	silent.Status.Message = ""
	for i := range silent.Status.Conditions {
		silent.Status.Conditions[i].Message = ""
	}
	for status := range statuses(silent) {
		for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
			if state.Terminated != nil {
				state.Terminated.Message = ""
			}
			if state.Waiting != nil {
				state.Waiting.Message = ""
			}
		}
	}
	return silent
}
