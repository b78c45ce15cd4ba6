package chaos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// settles waits until every Job has ended, with its workflow's work on its Pods.
func (c *chaos) settles(t *testing.T) {
	t.Helper()
	harness.Eventually(t, settling, func(ctx context.Context) error {
		if err := c.ledgersAreComplete(ctx); err != nil {
			return err
		}
		pods, err := stack.Pods(ctx, c.namespace)
		if err != nil {
			return err
		}
		if tracked := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return harness.Tracked(&pod) }); tracked >= 0 {
			return fmt.Errorf("Pod %s is not released", pods[tracked].Name)
		}
		return nil
	})
}

// ledgersAreComplete returns nil when each scheduled time and trigger has an outcome, and each run that started its end.
func (c *chaos) ledgersAreComplete(ctx context.Context) error {
	for _, cronJob := range c.cronJobs {
		rows, err := stack.Ledger(ctx, c.namespace, cronJob.Name)
		if err != nil {
			return err
		}
		outcomes := 0
		for _, row := range rows {
			outcomes += int(row.Times())
			if row.Outcome.HasJob() && row.Result == "" {
				return fmt.Errorf("the run %s has not ended", row.Job)
			}
			if row.Outcome == ledger.Queued {
				return fmt.Errorf("runs of %s wait since %s", cronJob.Name, row.Scheduled.Format(time.TimeOnly))
			}
		}
		if want := len(c.times) + 1; outcomes < want {
			return fmt.Errorf("%s has %d outcomes of %d", cronJob.Name, outcomes, want)
		}
	}
	return nil
}

// accounts compares ledgers, Jobs and Pods.
func (c *chaos) accounts(t *testing.T) {
	t.Helper()
	fires, latest, outcomes, results := 0, time.Duration(0), map[string]int{}, map[string]int{}
	for _, cronJob := range c.cronJobs {
		rows, err := stack.Ledger(t.Context(), c.namespace, cronJob.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			fires += int(row.Times())
			if row.Outcome.HasJob() {
				latest = max(latest, row.Recorded.Sub(row.Scheduled))
				results[strings.TrimSpace(string(row.Result)+" "+row.ResultReason)]++
			}
			outcomes[strings.TrimSpace(string(row.Outcome)+" "+row.Reason)] += int(row.Times())
		}
		c.everyTimeHasOneOutcome(t, cronJob, rows)
		c.everyRunHasOneJob(t, cronJob, rows)
	}
	c.nobodyIsLeft(t)
	t.Logf("%d fires, %d Jobs (and %d replaced before the watch saw them), %d Pods, the latest start after %s: %v, %v",
		fires, len(c.record.Jobs("")), c.unseen, len(c.record.AllPods()), latest.Round(time.Second), outcomes, results)
	if fires < *firesFlag {
		t.Errorf("%d fires, want %d at least", fires, *firesFlag)
	}
}

func (c *chaos) everyTimeHasOneOutcome(t *testing.T, cronJob *ostinatov1.CronJob, rows []protocol.LedgerRow) {
	t.Helper()
	told, manual := map[time.Time]int{}, 0
	for _, row := range rows {
		if row.Manual {
			manual++
			continue
		}
		for n := range row.Times() {
			told[row.Scheduled.UTC().Add(time.Duration(n)*time.Minute)]++
		}
	}
	for _, at := range c.times {
		if told[at] != 1 {
			t.Errorf("%s has %d outcomes for %s: %+v", cronJob.Name, told[at], at.Format(time.TimeOnly), rows)
		}
		delete(told, at)
	}
	if len(told) > 0 || manual != 1 {
		t.Errorf("%s has %d triggers and names %v too", cronJob.Name, manual, slices.Collect(maps.Keys(told)))
	}
}

// everyRunHasOneJob compares the rows of a CronJob with the Jobs that were ever seen.
func (c *chaos) everyRunHasOneJob(t *testing.T, cronJob *ostinatov1.CronJob, rows []protocol.LedgerRow) {
	t.Helper()
	seen := map[string][]*batchv1.Job{}
	for _, job := range c.record.Jobs(cronJob.Name) {
		seen[job.Name] = append(seen[job.Name], job)
	}
	for _, row := range rows {
		if !row.Outcome.HasJob() {
			continue
		}
		jobs := seen[row.Job]
		delete(seen, row.Job)
		switch {
		case len(jobs) == 0 && row.Result == "Deleted" && cronJob.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
			// Its successor came so soon after it, behind an outage, that the watch saw neither come nor go.
			c.unseen++
		case len(jobs) != 1:
			t.Errorf("%s: %d Jobs were seen for %+v; all rows: %+v", cronJob.Name, len(jobs), row, rows)
		case !row.Manual && !scheduledTimeOf(t, jobs[0]).Equal(row.Scheduled):
			t.Errorf("%s: Job %s is of %s, and the row of %s", cronJob.Name, row.Job, scheduledTimeOf(t, jobs[0]), row.Scheduled)
		case row.Result != "Deleted" && !harness.HasCondition(jobs[0], batchv1.JobConditionType(row.Result)):
			t.Errorf("%s: Job %s is not %s: %+v", cronJob.Name, row.Job, row.Result, jobs[0].Status)
		case row.Result == "Deleted" && cronJob.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
			// Without the reason Replaced where the workflow task that deleted it was repeated and found it gone.
		case row.Result != "Complete":
			t.Errorf("%s: a run ended as %+v", cronJob.Name, row)
		}
	}
	for name := range seen {
		t.Errorf("%s: Job %s has no row", cronJob.Name, name)
	}
	if policy := cronJob.Spec.ConcurrencyPolicy; policy == batchv1.ForbidConcurrent || policy == ostinatov1.QueueConcurrent {
		neverTwoAtOnce(t, c.record.Jobs(cronJob.Name))
	}
}

// neverTwoAtOnce checks that each Job was created when the one before it had ended.
func neverTwoAtOnce(t *testing.T, jobs []*batchv1.Job) {
	t.Helper()
	if err := overlaps(jobs); err != nil {
		t.Error(err)
	}
}

// overlaps describes the first Job that was created before the one ahead of it had ended. Kubernetes tells both times in
// whole seconds: of Jobs that were created in the same one, the first to end came first.
func overlaps(jobs []*batchv1.Job) error {
	jobs = slices.SortedFunc(slices.Values(jobs), func(a, b *batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), endOf(a).Compare(endOf(b)))
	})
	for n, job := range jobs[:max(len(jobs)-1, 0)] {
		if jobs[n+1].CreationTimestamp.Time.Before(endOf(job)) {
			return fmt.Errorf("Job %s was created at %s, Job %s ended at %v",
				jobs[n+1].Name, jobs[n+1].CreationTimestamp, job.Name, job.Status.CompletionTime)
		}
	}
	return nil
}

// endOf returns when a Job was complete: after all time for one that was not seen to be.
func endOf(job *batchv1.Job) time.Time {
	if job.Status.CompletionTime == nil {
		return time.Unix(1<<40, 0)
	}
	return job.Status.CompletionTime.Time
}

func scheduledTimeOf(t *testing.T, job *batchv1.Job) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
	if err != nil {
		t.Fatalf("Job %s: %v", job.Name, err)
	}
	return at
}

// nobodyIsLeft waits until every Pod has its Job, and checks that every Job has its CronJob or is one of those of none.
func (c *chaos) nobodyIsLeft(t *testing.T) {
	t.Helper()
	jobs, err := stack.Jobs(t.Context(), c.namespace)
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]bool{}
	for _, cronJob := range c.cronJobs {
		owners[string(cronJob.UID)] = true
	}
	for _, job := range jobs {
		if owner := metav1.GetControllerOf(&job); (owner == nil || !owners[string(owner.UID)]) && !slices.Contains(c.jobs, job.Name) {
			t.Errorf("Job %s has the owner %+v", job.Name, owner)
		}
	}
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.Pods(ctx, c.namespace)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			owner := metav1.GetControllerOf(&pod)
			if owner == nil || !slices.ContainsFunc(jobs, func(job batchv1.Job) bool { return job.UID == owner.UID }) {
				return fmt.Errorf("Pod %s has no Job", pod.Name)
			}
		}
		return nil
	})
}
