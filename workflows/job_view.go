package workflows

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// maxDetailPods bounds the table of Pods in the current details.
const maxDetailPods = 20

// describe answers the describe query.
func (w *jobWorkflow) describe() (protocol.JobDescription, error) {
	description := protocol.JobDescription{
		Job:     w.input.Job,
		Spec:    w.spec,
		Pods:    w.state.Pods,
		Waiting: w.waiting,
	}
	if w.state.Written != nil {
		description.Status = *w.state.Written
	}
	return description, nil
}

// show makes the state visible in the Temporal UI; it costs no events.
func (w *jobWorkflow) show(ctx workflow.Context, outcome job.PlanOutcome) {
	w.waiting = outcome.Waiting
	workflow.SetCurrentDetails(ctx, jobDetails(w.state, w.waiting))
}

func jobDetails(state job.State, waiting string) string {
	var text strings.Builder
	if waiting != "" {
		text.WriteString(fmt.Sprintf("**Waiting:** %s\n\n", markdownText(waiting)))
	}
	text.WriteString(fmt.Sprintf("%d succeeded, %d failed", state.Succeeded, state.Failed))
	if !state.StartTime.IsZero() {
		text.WriteString(fmt.Sprintf(", started %s", state.StartTime.UTC().Format(time.RFC3339)))
	}
	text.WriteString("\n")
	if len(state.Pods) == 0 {
		return text.String()
	}
	text.WriteString("\n| Pod | phase | counted | last failure |\n|---|---|---|---|\n")
	for i, pod := range state.Pods {
		if i == maxDetailPods {
			text.WriteString(fmt.Sprintf("\n%d more\n", len(state.Pods)-i))
			break
		}
		text.WriteString(fmt.Sprintf("| %s | %s | %s | %s |\n", pod.Name, podPhase(pod), pod.Fate, podFailure(pod)))
	}
	return text.String()
}

func podPhase(pod job.Pod) string {
	switch {
	case pod.UID == "":
		return "requested"
	case pod.Gone:
		return "gone"
	case pod.Deleting && !pod.Terminal():
		return "terminating"
	case pod.Phase == "":
		return "created"
	}
	return string(pod.Phase)
}

func podFailure(pod job.Pod) string {
	if pod.ExitCode == 0 && pod.Reason == "" {
		return ""
	}
	return markdownText(fmt.Sprintf("exit code %d %s %s", pod.ExitCode, pod.Reason, pod.Message))
}

// markdownText keeps text that others wrote from breaking out of a table cell.
func markdownText(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ", "<", "&lt;").Replace(text)
}

// summary names the most telling part of an outcome, for the Temporal UI.
func (w *jobWorkflow) summary(outcome job.PlanOutcome) string {
	name := w.input.Job.Name
	switch {
	case len(outcome.Creates) == 1:
		return "create pod " + outcome.Creates[0].Name
	case len(outcome.Creates) > 1:
		return fmt.Sprintf("create %d pods of %s", len(outcome.Creates), name)
	case len(outcome.Deletes) == 1:
		return "delete pod " + outcome.Deletes[0].Name
	case len(outcome.Deletes) > 1:
		return fmt.Sprintf("delete %d pods of %s", len(outcome.Deletes), name)
	case outcome.Status != nil:
		return statusSummary(name, *outcome.Status)
	case len(outcome.Releases) > 0:
		return fmt.Sprintf("release %d pods of %s", len(outcome.Releases), name)
	}
	return "report on job " + name
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
