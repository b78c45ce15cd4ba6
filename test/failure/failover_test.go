package failure

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/test/harness"
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
