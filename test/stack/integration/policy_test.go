package integration

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

// maxAlive watches a namespace's Jobs until the test ends and returns a function
// that tells the largest number of Jobs that were unfinished and not being
// deleted at one time.
func maxAlive(t *testing.T, namespace string) func() int {
	t.Helper()
	var most atomic.Int64
	alive := map[string]bool{}
	stack.FollowJobs(t, namespace, func(job *batchv1.Job, gone bool) {
		finished := harness.HasCondition(job, batchv1.JobComplete) || harness.HasCondition(job, batchv1.JobFailed)
		if gone || finished || job.DeletionTimestamp != nil {
			delete(alive, job.Name)
		} else {
			alive[job.Name] = true
		}
		most.Store(max(most.Load(), int64(len(alive))))
	})
	return func() int { return int(most.Load()) }
}

// longRun is longer than the period of a CronJob that is due every minute.
const longRun = 80 * time.Second

// Forbid with a run longer than its period never shows two active Jobs, and the
// blocked run starts late when the running one ends.
func TestForbidNeverOverlaps(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	alive := maxAlive(t, namespace)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "long", harness.Minutely,
		harness.JobSpec(harness.RunSeconds(int(longRun.Seconds()))), harness.Policy(batchv1.ForbidConcurrent)))
	harness.Eventually(t, harness.NextMinute+longRun+harness.Prompt, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		if len(jobs) < 2 {
			return fmt.Errorf("%d runs", len(jobs))
		}
		return stack.HasEvent(ctx, namespace, "CronJob", "long", "JobAlreadyActive")
	})
	if most := alive(); most != 1 {
		t.Errorf("%d runs were active at one time", most)
	}
}

// Forbid holds for triggers too: one that comes while a run is active does not start.
func TestForbidHoldsForTriggers(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	alive := maxAlive(t, namespace)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "single", harness.Yearly,
		harness.JobSpec(harness.RunSeconds(5)), harness.Policy(batchv1.ForbidConcurrent)))
	awaitWorkflow(t, namespace, "single")
	for range 3 {
		stack.Signal(t, harness.CronJobWorkflow(namespace, "single"), protocol.TriggerSignal, nil)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
	if most := alive(); most != 1 {
		t.Errorf("%d runs were active at one time", most)
	}
	if err := stack.HasEvent(t.Context(), namespace, "CronJob", "single", "JobAlreadyActive"); err != nil {
		t.Error(err)
	}
}

// Replace never leaves two alive: the old Job is deleted before the new one starts.
func TestReplaceLeavesOneAlive(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	alive := maxAlive(t, namespace)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "newest", harness.Yearly,
		harness.JobSpec(harness.RunSeconds(600)), harness.Policy(batchv1.ReplaceConcurrent)))
	awaitWorkflow(t, namespace, "newest")
	for run := range 3 {
		stack.Signal(t, harness.CronJobWorkflow(namespace, "newest"), protocol.TriggerSignal, nil)
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			reasons, err := stack.EventReasons(ctx, namespace, "CronJob", "newest")
			if err != nil {
				return err
			}
			if reasons["SuccessfulCreate"] != run+1 || reasons["SuccessfulDelete"] != run {
				return fmt.Errorf("Events: %v", reasons)
			}
			return onlyActive(ctx, namespace, "newest", 1)
		})
	}
	if most := alive(); most != 1 {
		t.Errorf("%d runs were alive at one time", most)
	}
	// The replaced runs' Pods go too: nothing holds their finalizer.
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.Pods(ctx, namespace)
		if err != nil {
			return err
		}
		left := 0
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodSucceeded {
				left++
			}
		}
		if left != 1 {
			return fmt.Errorf("%d Pods are left", left)
		}
		return nil
	})
}

func onlyActive(ctx context.Context, namespace, name string, want int) error {
	cronJob, err := stack.CronJob(ctx, namespace, name)
	if err != nil {
		return err
	}
	if len(cronJob.Status.Active) != want {
		return fmt.Errorf("%d active, want %d", len(cronJob.Status.Active), want)
	}
	return nil
}

// Allow lets runs overlap.
func TestAllowOverlaps(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "many", harness.Yearly, harness.JobSpec(harness.RunSeconds(30))))
	awaitWorkflow(t, namespace, "many")
	for range 2 {
		stack.Signal(t, harness.CronJobWorkflow(namespace, "many"), protocol.TriggerSignal, nil)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return onlyActive(ctx, namespace, "many", 2) })
}
