package answer

import (
	"fmt"
	"io"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// Branch is a Job of a CronJob with its Pods.
type Branch struct {
	Job  batchv1.Job  `json:"job"`
	Pods []corev1.Pod `json:"pods"`
}

// Tree writes what belongs to a CronJob: its workflow, its Jobs, the newest first, and their Pods.
func Tree(out io.Writer, clock Clock, cronJob *ostinatov1.CronJob, branches []Branch) error {
	head := fmt.Sprintf("CronJob %s/%s", cronJob.Namespace, cronJob.Name)
	if workflow := cronJob.Status.Workflow; workflow != nil {
		head += fmt.Sprintf("  (workflow %s in Temporal namespace %s)", workflow.ID, workflow.Namespace)
	}
	lines := []string{head}
	if cronJob.Status.Queued > 0 {
		lines = append(lines, "│  "+waiting(cronJob))
	}
	slices.SortStableFunc(branches, func(a, b Branch) int { return b.Job.CreationTimestamp.Compare(a.Job.CreationTimestamp.Time) })
	for n, branch := range branches {
		stem, below := "├─ ", "│  "
		if n == len(branches)-1 {
			stem, below = "└─ ", "   "
		}
		lines = append(lines, fmt.Sprintf("%sJob %s  %s, created %s", stem, branch.Job.Name, jobState(&branch.Job), clock.Ago(branch.Job.CreationTimestamp.Time)))
		if run, ok := stuck(cronJob); ok && run.Job == branch.Job.Name && len(branch.Pods) == 0 {
			lines = append(lines, below+stuckFor(clock, run))
		}
		for m, pod := range branch.Pods {
			leaf := "├─ "
			if m == len(branch.Pods)-1 {
				leaf = "└─ "
			}
			lines = append(lines, fmt.Sprintf("%s%sPod %s  %s", below, leaf, pod.Name, podState(&pod)))
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

// jobState is the condition in which a Job has ended, or that it runs.
func jobState(job *batchv1.Job) string {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete, batchv1.JobSuspended:
			return string(condition.Type)
		case batchv1.JobFailed:
			return "Failed (" + condition.Reason + ")"
		}
	}
	return fmt.Sprintf("%d active, %d succeeded, %d failed", job.Status.Active, job.Status.Succeeded, job.Status.Failed)
}

// podState is a Pod's phase, and why a container of it waits or has ended.
func podState(pod *corev1.Pod) string {
	state := string(pod.Status.Phase)
	if pod.DeletionTimestamp != nil {
		state = "Terminating"
	}
	if wait, waits := k8s.WaitOf(pod); waits && pod.DeletionTimestamp == nil {
		return state + " (" + wait.Text() + ")"
	}
	for _, container := range pod.Status.ContainerStatuses {
		switch {
		case container.State.Waiting != nil && container.State.Waiting.Reason != "":
			return state + " (" + container.State.Waiting.Reason + ")"
		case container.State.Terminated != nil && container.State.Terminated.ExitCode != 0:
			return fmt.Sprintf("%s (exit code %d)", state, container.State.Terminated.ExitCode)
		}
	}
	return state
}
