package failure

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// atOnce is how many runs are asked for at once, begun how many of their Jobs exist at least when the worker is killed.
const atOnce, begun = 60, 10

// A worker is killed while it starts runs, and the next one while it deletes their Jobs for the history limit: each is made
// once.
func TestWorkersKilledWhileRunsStartAndTheirJobsAreDeleted(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	var deleted atomic.Int32
	stack.FollowJobs(t, namespace, func(_ *batchv1.Job, gone bool) {
		if gone {
			deleted.Add(1)
		}
	})
	cronJob := harness.NewCronJob(namespace, "busy", harness.Yearly, harness.JobSpec())
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(0))
	cronJob = stack.CreateCronJob(t, cronJob)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error { return stack.Observed(ctx, namespace, cronJob.Name) })
	workflow := harness.CronJobWorkflow(namespace, cronJob.Name)

	killWorker(t, 0)
	for range atOnce {
		stack.Signal(t, workflow, protocol.TriggerSignal, nil)
	}
	startWorker(t)
	asSoonAs(t, "the first Jobs are made", func() bool { return len(record.Jobs(cronJob.Name)) >= begun })
	killWorker(t, 0)
	if made := len(record.Jobs(cronJob.Name)); made == atOnce {
		t.Fatalf("all %d Jobs are made: too late for a kill in the middle", made)
	}
	startWorker(t)
	asSoonAs(t, "a Job is deleted for the history limit", func() bool { return deleted.Load() > 0 })
	killWorker(t, 0)
	startWorker(t)

	harness.Eventually(t, harness.Recovery+harness.Bulk, func(ctx context.Context) error {
		rows, err := stack.Ledger(ctx, namespace, cronJob.Name)
		if err == nil && len(rows) != atOnce {
			err = fmt.Errorf("%d triggers have a row, want %d", len(rows), atOnce)
		}
		return err
	})
	all := record.Jobs(cronJob.Name)
	distinct := map[string]bool{}
	for _, job := range all {
		distinct[job.Name] = true
	}
	if len(all) != atOnce || len(distinct) != atOnce {
		t.Errorf("%d Jobs of %d names were made for %d triggers", len(all), len(distinct), atOnce)
	}
}

// A worker stands still with a start in its hands, which waits for the time of the run. Temporal gives the attempt to another
// worker, and the run is over and its Job gone when the first one goes on: that one does not start the run again.
func TestWorkerThatStoodStillStartsNoRunAgain(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	cronJob := harness.NewCronJob(namespace, "stale", "* * * * *", harness.JobSpec())
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(0))
	stack.AddCronJob(t, cronJob)
	// Nothing of it is left of an earlier minute.
	harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error {
		left, err := stack.Jobs(ctx, namespace)
		if made := len(record.Jobs(cronJob.Name)); err == nil && (made == 0 || len(left) > 0) {
			err = fmt.Errorf("%d Jobs were made, %d are left", made, len(left))
		}
		return err
	})

	still := stack.Workers()[0]
	send := func(signal syscall.Signal) {
		if err := still.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	workflow, waits := harness.CronJobWorkflow(namespace, cronJob.Name), false
	for try := 0; try < 3 && !waits; try++ {
		due := time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(time.Until(due.Add(-time.Second)))
		// As soon as the worker has the start, which waits until it is due.
		for !waits && time.Now().Before(due.Add(-100*time.Millisecond)) {
			waits = hasAStart(t, workflow)
		}
		if !waits {
			time.Sleep(time.Until(due))
		}
	}
	if !waits {
		t.Fatal("no start was under way before its time in three minutes")
	}
	send(syscall.SIGSTOP)
	before := len(record.Jobs(cronJob.Name))
	startWorker(t)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		left, err := stack.Jobs(ctx, namespace)
		if made := len(record.Jobs(cronJob.Name)) - before; err == nil && (made == 0 || len(left) > 0) {
			err = fmt.Errorf("%d Jobs were made, %d are left", made, len(left))
		}
		return err
	})
	send(syscall.SIGCONT)
	harness.Eventually(t, harness.Prompt, func(context.Context) error {
		return gaveUp(still)
	})
	made := record.Jobs(cronJob.Name)
	names := map[string]bool{}
	for _, job := range made {
		names[job.Name] = true
	}
	if len(names) != len(made) {
		t.Errorf("a run was started again: %v", jobNames(made))
	}
}

// hasAStart reports whether a worker has an activity of the workflow.
func hasAStart(t *testing.T, workflow string) bool {
	t.Helper()
	description, err := stack.Temporal.DescribeWorkflowExecution(t.Context(), workflow, "")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(description.GetPendingActivities(), func(pending *workflowpb.PendingActivityInfo) bool {
		return pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
	})
}

// gaveUp returns nil when the worker has logged that Temporal no longer took its word for an activity of a CronJob. Which
// word it was depends on what the attempt did first as it went on: a heartbeat, the question to Temporal, or the answer.
func gaveUp(worker *process.Process) error {
	log, err := os.ReadFile(worker.LogFile())
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "TaskQueue="+names.Cluster("").ControlTaskQueue()+" ") && (strings.Contains(line, "invalid activityID or activity already timed out") ||
			strings.Contains(line, "Activity complete after timeout")) {
			return nil
		}
	}
	return fmt.Errorf("%s does not say that it gave up an attempt", worker.Name())
}
