package failure

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// failoverBound is how long after the death of the worker that watches Pods the
// end of a Pod may go unseen: the heartbeat timeout and what follows.
const failoverBound = harness.HeartbeatTimeout + harness.Slack

// Of two workers the one that watches Pods is killed while Pods run; the other
// takes over and sees those that ended in between.
func TestPodWatchFailsOver(t *testing.T) {
	disrupts(t)
	startWorker(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	var jobs []string
	for n := range 6 {
		name := fmt.Sprintf("watched-%d", n)
		stack.CreateJob(t, namespace, name, harness.JobSpec(harness.RunSeconds(4)))
		jobs = append(jobs, name)
	}
	for _, job := range jobs {
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			return stack.PodsAre(ctx, namespace, job, corev1.PodRunning, 1)
		})
	}
	var holder int
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) (err error) {
		holder, err = stack.PodWatchHolder(ctx)
		return err
	})
	killWorker(t, holder)
	killed := time.Now()
	for _, job := range jobs {
		harness.Eventually(t, time.Until(killed.Add(failoverBound)), func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, job, batchv1.JobComplete)
		})
	}
	t.Logf("all were Complete %s after the kill", time.Since(killed).Round(100*time.Millisecond))
	for _, job := range jobs {
		finishesOnce(t, record, namespace, job, harness.Recovery)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		_, err := stack.PodWatchHolder(ctx)
		return err
	})
}

// The only worker stands still until Temporal has given up its watch of Pods. When it goes on, it is given the next attempt
// while it may not have heard yet that the one before is over; it watches Pods once, and goes on to.
func TestPodWatchGoesOnInAWorkerThatStoodStill(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	still := stack.Workers()[0]
	send := func(signal syscall.Signal) {
		if err := still.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	before, err := watchOfPods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send(syscall.SIGSTOP)
	harness.Eventually(t, harness.HeartbeatTimeout+harness.Slack, func(ctx context.Context) error {
		given, err := watchOfPods(ctx)
		if err == nil && given.GetAttempt() == before.GetAttempt() {
			err = fmt.Errorf("attempt %d is %s", given.GetAttempt(), given.GetState())
		}
		return err
	})
	send(syscall.SIGCONT)
	since := time.Now()
	var next *workflowpb.PendingActivityInfo
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) (err error) {
		next, err = watchOfPods(ctx)
		if err == nil && (next.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED || next.GetLastHeartbeatTime().AsTime().Before(since)) {
			err = fmt.Errorf("attempt %d is %s, last failure %q", next.GetAttempt(), next.GetState(), next.GetLastFailure().GetMessage())
		}
		return err
	})
	t.Logf("attempt %d had the watch %s after the worker went on, which was attempt %d's",
		next.GetAttempt(), time.Since(since).Round(100*time.Millisecond), before.GetAttempt())
	stack.CreateJob(t, namespace, "after", harness.JobSpec(harness.RunSeconds(1)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, "after", batchv1.JobComplete) })
	survivors(t, stack.Workers())
}

// watchOfPods is the activity of the one shard's workflow.
func watchOfPods(ctx context.Context) (*workflowpb.PendingActivityInfo, error) {
	id := names.Cluster("").PodWatchWorkflowID(0, 1)
	description, err := stack.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return nil, err
	}
	if pending := description.GetPendingActivities(); len(pending) == 1 {
		return pending[0], nil
	}
	return nil, fmt.Errorf("workflow %s has %d activities", id, len(description.GetPendingActivities()))
}
