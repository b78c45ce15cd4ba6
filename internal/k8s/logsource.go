package k8s

import corev1 "k8s.io/api/core/v1"

// LogSource is the container of a Pod whose log says most about the Pod's end.
type LogSource struct {
	Container string
	// Runs: it has not ended. Restarted: it ran before, so that there is a log of that run too, which is the one of
	// Previous.
	Runs, Restarted, Previous bool
}

// LogSourceOf returns the container that failed first, or else one that runs, app containers before init containers, or
// else one that has ended. Where none is known to have started it is the first: the Pod's status may be behind the
// node.
func LogSourceOf(pod *corev1.Pod) (source LogSource) {
	if len(pod.Spec.Containers) > 0 {
		source.Container = pod.Spec.Containers[0].Name
	}
	failed, _ := firstFailure(pod)
	rank := 0
	for status := range statuses(pod) {
		here := 0
		switch {
		case status.Name == failed && failed != "":
			here = 3
		case status.State.Running != nil:
			here = 2
		case status.State.Terminated != nil || status.LastTerminationState.Terminated != nil:
			here = 1
		}
		if here > rank {
			rank = here
			source = LogSource{
				Container: status.Name, Runs: status.State.Running != nil, Restarted: status.LastTerminationState.Terminated != nil,
			}
		}
	}
	return source
}
