package answer

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// Attempt shows what a workflow has kept of a Pod that failed or was ended: how its container ended, and the last lines
// of its log.
func Attempt(clock Clock, attempt job.Attempt) string {
	var text strings.Builder
	fmt.Fprintf(&text, "==> %s", Printable(attempt.Pod))
	if attempt.Container != "" {
		fmt.Fprintf(&text, " %s", Printable(attempt.Container))
	}
	text.WriteString(" <==\n")
	for line := range strings.Lines(attempt.Log) {
		fmt.Fprintln(&text, Printable(strings.TrimSuffix(line, "\n")))
	}
	if attempt.LogMissing != "" {
		fmt.Fprintf(&text, "(no log: %s)\n", Printable(attempt.LogMissing))
	}
	return text.String() + ended(clock, attempt)
}

// ended is the line that says how an attempt has ended.
func ended(clock Clock, attempt job.Attempt) string {
	var how []string
	if attempt.Container != "" {
		how = append(how, fmt.Sprintf("exit code %d", attempt.ExitCode))
	}
	if attempt.Signal != 0 {
		how = append(how, fmt.Sprintf("signal %d", attempt.Signal))
	}
	if attempt.Reason != "" {
		how = append(how, attempt.Reason)
	}
	if attempt.Message != "" {
		how = append(how, attempt.Message)
	}
	if attempt.Ended != "" {
		how = append(how, "it was ended: "+attempt.Ended)
	}
	if !attempt.Finished.IsZero() {
		how = append(how, "at "+clock.Time(attempt.Finished))
	}
	return fmt.Sprintf("(ended: %s)\n", Printable(strings.Join(how, ", ")))
}

// LogSources are the containers of a Pod that have a log: those that have started, init containers only if they have
// not succeeded. A Pod without statuses may have a log of each of its containers.
func LogSources(pod *corev1.Pod) (names []string) {
	for _, status := range pod.Status.InitContainerStatuses {
		if ended := status.State.Terminated; hasStarted(status) && (ended == nil || ended.ExitCode != 0) {
			names = append(names, status.Name)
		}
	}
	statuses := map[string]corev1.ContainerStatus{}
	for _, status := range pod.Status.ContainerStatuses {
		statuses[status.Name] = status
	}
	for _, container := range pod.Spec.Containers {
		if status, known := statuses[container.Name]; !known && pod.Status.Phase != corev1.PodPending || known && hasStarted(status) {
			names = append(names, container.Name)
		}
	}
	return names
}

func hasStarted(status corev1.ContainerStatus) bool {
	return status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil
}

// PodEnd is the line that says how a Pod ended that has failed, or why it has not started; empty for others.
func PodEnd(clock Clock, pod *corev1.Pod) string {
	fact := k8s.PodFact(pod)
	attempt := job.AttemptOf(job.Pod{PodFact: fact})
	switch {
	case fact.Phase == corev1.PodFailed:
		return ended(clock, attempt)
	case fact.Pending != "":
		return fmt.Sprintf("(Pod %s has not started: %s)\n", Printable(pod.Name), Printable(attempt.Words()))
	}
	return ""
}
