package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// maxDescribedPods bounds the Pods in the answer to the describe query.
	maxDescribedPods = 500
	// maxDetailPods bounds the Pods in the current details, and maxDetailLogs the logs of failed attempts below.
	maxDetailPods = 20
	maxDetailLogs = 3
)

// describe answers the describe query.
func (w *runningJob) describe() (protocol.JobDescription, error) {
	shown := min(len(w.state.Pods), maxDescribedPods)
	return protocol.JobDescription{
		Job:             w.reference,
		Spec:            w.spec,
		Status:          w.state.Status(),
		Pods:            w.state.Pods[:shown],
		PodsOmitted:     len(w.state.Pods) - shown,
		Attempts:        w.state.Evidence,
		AttemptsOmitted: w.state.EvidenceOmitted,
		Waiting:         w.waiting,
	}, nil
}

// jobDetails renders the workflow's current details for the Temporal UI.
func jobDetails(state job.State, waiting string) string {
	var text strings.Builder
	text.WriteString(said("**Waiting:** %s\n\n", escape(waiting)))
	text.WriteString(fmt.Sprintf("%d succeeded, %d failed", state.Succeeded, state.Failed))
	text.WriteString(said(", %d indexes failed", state.FailedIndexes.Len()))
	text.WriteString(said(", started %s", clock(state.StartTime)) + "\n")
	for _, condition := range state.Conditions {
		text.WriteString(fmt.Sprintf("\n%s=%s: %s: %s\n", condition.Type, condition.Status, condition.Reason, escape(condition.Message)))
	}
	writePods(&text, state.Pods)
	writeAttempts(&text, state.Evidence, state.EvidenceOmitted)
	return text.String()
}

func writePods(text *strings.Builder, pods []job.Pod) {
	if len(pods) == 0 {
		return
	}
	text.WriteString("\n| Pod | phase | counted | last failure |\n|---|---|---|---|\n")
	for _, pod := range pods[:min(len(pods), maxDetailPods)] {
		text.WriteString(fmt.Sprintf("| %s | %s | %s | %s |\n", pod.Name, podPhase(pod), pod.Fate, attemptFailure(job.AttemptOf(pod))))
	}
	text.WriteString(said("\n%d more\n", max(len(pods)-maxDetailPods, 0)))
}

// writeAttempts shows what is left of the Pods that failed, the newest first, and the ends of the newest logs.
func writeAttempts(text *strings.Builder, attempts []job.Attempt, omitted int) {
	if len(attempts) == 0 {
		return
	}
	text.WriteString("\n**Failed attempts**, newest first\n\n| Pod | node | started | finished | failure |\n|---|---|---|---|---|\n")
	for _, attempt := range slices.Backward(attempts) {
		text.WriteString(fmt.Sprintf("| %s | %s | %s | %s | %s |\n", attempt.Pod, attempt.Node, clock(attempt.Started), clock(attempt.Finished), attemptFailure(attempt)))
	}
	text.WriteString(said("\n%d older attempts are not kept\n", max(omitted, 0)))
	shown := 0
	for _, attempt := range slices.Backward(attempts) {
		if shown == maxDetailLogs {
			break
		}
		switch {
		case attempt.Log != "":
			text.WriteString(fmt.Sprintf("\nEnd of the log of %s:\n\n```\n%s\n```\n", attempt.Pod, codeText(attempt.Log)))
		case attempt.LogMissing != "":
			text.WriteString(fmt.Sprintf("\nNo log of %s: %s\n", attempt.Pod, escape(attempt.LogMissing)))
		default:
			continue
		}
		shown++
	}
}

func attemptFailure(attempt job.Attempt) string {
	exit := joined(" ", said("exit code %d", attempt.ExitCode), said("signal %d", attempt.Signal))
	return escape(joined(" ", said("container %s:", attempt.Container), exit, attempt.Reason, attempt.Message))
}

func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return timeText(at)
}

// codeText keeps a log from ending its code block.
func codeText(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "```", "~~~")
}

func podPhase(pod job.Pod) string {
	switch {
	case pod.Gone:
		return "gone"
	case pod.Deleting && !pod.Ended():
		return "terminating"
	case pod.Phase == "":
		return "created"
	}
	return string(pod.Phase)
}

// summary names the most telling part of a plan, for the Temporal UI.
func (w *runningJob) summary(plan job.Plan) string {
	name := w.reference.Name
	switch {
	case plan.Terminate != "":
		return "end the pods of " + name
	case len(plan.Creates) > 0:
		return podsSummary("create", len(plan.Creates), plan.Creates[0].Name, name)
	case len(plan.Deletes) > 0:
		return podsSummary("delete", len(plan.Deletes), plan.Deletes[0].Name, name)
	case plan.Status != nil:
		return statusSummary(name, *plan.Status)
	case len(plan.Releases) > 0:
		return podsSummary("release", len(plan.Releases), plan.Releases[0].Name, name)
	}
	return "report on job " + name
}

func podsSummary(verb string, count int, first, job string) string {
	if count == 1 {
		return verb + " pod " + first
	}
	return fmt.Sprintf("%s %d pods of %s", verb, count, job)
}

func statusSummary(name string, status batchv1.JobStatus) string {
	if len(status.Conditions) > 0 {
		switch last := status.Conditions[len(status.Conditions)-1]; last.Type {
		case batchv1.JobComplete:
			return "complete job " + name
		case batchv1.JobFailed, batchv1.JobFailureTarget:
			return fmt.Sprintf("fail job %s: %s", name, last.Reason)
		}
	}
	return fmt.Sprintf("status of %s: %d active, %d succeeded, %d failed", name, status.Active, status.Succeeded, status.Failed)
}
