package failure

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// outage is how long the API server or Temporal is away.
	outage = 30 * time.Second
	// preparations is how long before a scheduled time a test begins what has to be there when the outage does, so
	// much shorter than outage that the scheduled time and a starting deadline of some seconds fall into it.
	preparations = 20 * time.Second
)

// The Temporal server is killed while a Pod runs and around fires, and comes
// back on its data.
func TestTemporalKilled(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	run := startRunIn(t, namespace, record, "steady", 5)
	fired := []string{"fired-0", "fired-1", "fired-2", "fired-3"}
	for _, name := range fired {
		stack.AddCronJob(t, harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec()))
	}
	for _, name := range fired {
		stack.Signal(t, harness.CronJobWorkflow(namespace, name), protocol.TriggerSignal, nil)
	}
	asSoonAs(t, "a Job exists", func() bool { return len(record.Jobs("")) > 1 })
	killTemporal(t)
	startTemporal(t)
	run.podEnded(t)
	run.finishesOnce(t, harness.Recovery)
	for _, name := range fired {
		harness.Eventually(t, harness.Recovery, func(context.Context) error {
			if jobs := record.Jobs(name); len(jobs) != 1 {
				return fmt.Errorf("%s has %d Jobs", name, len(jobs))
			}
			return nil
		})
		finishesOnce(t, record, namespace, record.Jobs(name)[0].Name, harness.Recovery)
	}
	survivors(t, slices.Concat(stack.Workers(), stack.Bridges()))
}

// Temporal is away for 30 s, across the end of a Pod and a scheduled time. The run
// that is still inside its starting deadline runs late, the other is missed and
// the ledger and an Event say so.
func TestTemporalDown(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	due := minuteAfter(preparations)
	until(t, due.Add(-preparations))
	run := startRunIn(t, namespace, record, "steady", 15)
	strict := harness.NewCronJob(namespace, "strict", harness.Minutely, harness.JobSpec())
	strict.Spec.StartingDeadlineSeconds = ptr.To(int64(5))
	stack.AddCronJob(t, strict)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "patient", harness.Minutely, harness.JobSpec()))

	killTemporal(t)
	down := time.Now()
	if !down.Before(due) {
		t.Fatalf("the preparations took until %s, too late for the run of %s", down, due)
	}
	run.podEnded(t)
	until(t, down.Add(outage))
	startTemporal(t)
	back := time.Now()

	run.finishesOnce(t, harness.Recovery)
	late := ranOnce(t, record, "patient", due)
	if !late.After(back.Add(-5 * time.Second)) {
		t.Errorf("patient's run was created at %s, before Temporal was back at %s", late, back)
	}
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return missed(ctx, namespace, "strict", due) })
	if jobs := record.Scheduled("strict")[due.UTC()]; len(jobs) != 0 {
		t.Errorf("the missed run has the Job %s", jobs[0].Name)
	}
	survivors(t, slices.Concat(stack.Workers(), stack.Bridges()))
}

// ranOnce waits for the one Job of a scheduled time, asserts that it completes with
// one Pod, and returns when it was created.
func ranOnce(t *testing.T, record *harness.Record, cronJob string, due time.Time) time.Time {
	t.Helper()
	harness.Eventually(t, harness.AfterOutage, func(context.Context) error {
		if jobs := record.Scheduled(cronJob)[due.UTC()]; len(jobs) != 1 {
			return fmt.Errorf("%s has %d Jobs for %s", cronJob, len(jobs), due)
		}
		return nil
	})
	job := record.Scheduled(cronJob)[due.UTC()][0]
	finishesOnce(t, record, job.Namespace, job.Name, harness.AfterOutage)
	if err := record.Duplicates(cronJob); err != nil {
		t.Error(err)
	}
	return job.CreationTimestamp.Time
}

// missed returns nil when ledger and Events say that the run was missed.
func missed(ctx context.Context, namespace, name string, due time.Time) error {
	description, err := stack.DescribeCronJob(ctx, namespace, name)
	if err != nil {
		return err
	}
	for _, entry := range description.Ledger {
		last := entry.Until
		if last.IsZero() {
			last = entry.Scheduled
		}
		if due.Before(entry.Scheduled) || due.After(last) {
			continue
		}
		if entry.Outcome != ledger.SkippedDeadline || entry.Reason != ledger.ReasonStartingDeadlineExceeded {
			return fmt.Errorf("the ledger says %s, %s", entry.Outcome, entry.Reason)
		}
		return stack.HasEvent(ctx, namespace, "CronJob", name, "MissSchedule")
	}
	return fmt.Errorf("the ledger has nothing for %s: %+v", due, description.Ledger)
}
