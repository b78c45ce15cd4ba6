// Package overview shows the CronJobs and runs of a cluster as a table of text.
package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Snapshot is what a table is made from.
type Snapshot struct {
	Now      time.Time
	CronJobs []ostinatov1.CronJob
	// Jobs are those managed by Ostinato.
	Jobs []batchv1.Job
}

// maxRuns bounds the runs of a table: the newest are shown.
const maxRuns = 12

// Table renders the CronJobs with their next run and the newest runs.
func Table(snapshot Snapshot) string {
	var text strings.Builder
	writer := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(writer, "CRONJOB\tSCHEDULE\tSUSPEND\tACTIVE\tLAST RUN\tNEXT RUN")
	for _, cronJob := range sortedCronJobs(snapshot.CronJobs) {
		fmt.Fprintf(writer, "%s/%s\t%s\t%t\t%d\t%s\t%s\n", cronJob.Namespace, cronJob.Name, cronJob.Spec.Schedule,
			ptr.Deref(cronJob.Spec.Suspend, false), len(cronJob.Status.Active), lastRun(cronJob, snapshot.Now), nextRun(cronJob, snapshot.Now))
	}
	fmt.Fprintln(writer)
	fmt.Fprintln(writer, "RUN\tSTATE\tPODS\tSTARTED\tTOOK")
	for _, job := range newestJobs(snapshot.Jobs) {
		fmt.Fprintf(writer, "%s/%s\t%s\t%s\t%s\t%s\n", job.Namespace, job.Name, State(job), pods(job), started(job, snapshot.Now), took(job, snapshot.Now))
	}
	writer.Flush()
	return text.String()
}

// State says in a word or two where a Job is.
func State(job batchv1.Job) string {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return "Complete"
		case batchv1.JobFailed:
			return "Failed (" + condition.Reason + ")"
		case batchv1.JobSuspended:
			return "Suspended"
		}
	}
	if job.Status.Active > 0 {
		return "Running"
	}
	return "Waiting"
}

func sortedCronJobs(cronJobs []ostinatov1.CronJob) []ostinatov1.CronJob {
	sorted := slices.Clone(cronJobs)
	slices.SortFunc(sorted, func(a, b ostinatov1.CronJob) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

func newestJobs(jobs []batchv1.Job) []batchv1.Job {
	sorted := slices.Clone(jobs)
	slices.SortFunc(sorted, func(a, b batchv1.Job) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Namespace+a.Name, b.Namespace+b.Name))
	})
	return sorted[:min(len(sorted), maxRuns)]
}

// clock shows a time of today without its date.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

func lastRun(cronJob ostinatov1.CronJob, now time.Time) string {
	if cronJob.Status.LastScheduleTime == nil {
		return "-"
	}
	return clock(cronJob.Status.LastScheduleTime.Time, now)
}

func nextRun(cronJob ostinatov1.CronJob, now time.Time) string {
	for _, condition := range cronJob.Status.Conditions {
		if condition.Type == ostinatov1.ConditionScheduleValid && condition.Status == "False" {
			return condition.Reason
		}
	}
	if cronJob.Status.NextScheduleTime == nil {
		return "-"
	}
	next := cronJob.Status.NextScheduleTime.Time
	return fmt.Sprintf("%s (in %s)", clock(next, now), max(next.Sub(now), 0).Round(time.Second))
}

func pods(job batchv1.Job) string {
	return fmt.Sprintf("%d active, %d succeeded, %d failed", job.Status.Active, job.Status.Succeeded, job.Status.Failed)
}

func started(job batchv1.Job, now time.Time) string {
	if job.Status.StartTime == nil {
		return "-"
	}
	return clock(job.Status.StartTime.Time, now)
}

func took(job batchv1.Job, now time.Time) string {
	if job.Status.StartTime == nil {
		return "-"
	}
	end := now
	for _, condition := range job.Status.Conditions {
		if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
			end = condition.LastTransitionTime.Time
		}
	}
	if job.Status.CompletionTime != nil {
		end = job.Status.CompletionTime.Time
	}
	return end.Sub(job.Status.StartTime.Time).Round(time.Second).String()
}
