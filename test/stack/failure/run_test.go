package failure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// run is a run of a CronJob under test.
type run struct {
	record                  *harness.Record
	namespace, cronJob, job string
}

// startRun creates a CronJob in a namespace of its own, triggers it, and waits
// until its Pod runs, which it does for so many seconds.
func startRun(t *testing.T, seconds int) run {
	t.Helper()
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	return startRunIn(t, namespace, record, "steady", seconds)
}

func startRunIn(t *testing.T, namespace string, record *harness.Record, name string, seconds int) run {
	t.Helper()
	stack.AddCronJob(t, harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec(harness.RunSeconds(seconds))))
	job := stack.Trigger(t, namespace, name)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.PodsAre(ctx, namespace, job, corev1.PodRunning, 1)
	})
	return run{record: record, namespace: namespace, cronJob: name, job: job}
}

// podEnded waits until the run's Pod has succeeded, whether or not anyone of ours saw it.
func (r run) podEnded(t *testing.T) {
	t.Helper()
	harness.Eventually(t, harness.AfterOutage, func(ctx context.Context) error {
		return stack.PodsAre(ctx, r.namespace, r.job, corev1.PodSucceeded, 1)
	})
}

// finishesOnce asserts that the run ends as if nothing had happened.
func (r run) finishesOnce(t *testing.T, within time.Duration) {
	t.Helper()
	started := time.Now()
	finishesOnce(t, r.record, r.namespace, r.job, within)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, r.namespace, r.cronJob)
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(cronJob.Status.Active, func(active corev1.ObjectReference) bool { return active.Name == r.job }):
			return fmt.Errorf("CronJob %s still lists %s as active", r.cronJob, r.job)
		case cronJob.Status.LastSuccessfulTime == nil:
			return fmt.Errorf("CronJob %s has no lastSuccessfulTime", r.cronJob)
		}
		return nil
	})
	t.Logf("%s was finished after %s", r.job, time.Since(started).Round(100*time.Millisecond))
}

// finishesOnce asserts that a Job of one Pod completes with exactly one Pod
// ever created, a correct status, and its Pod released.
func finishesOnce(t *testing.T, record *harness.Record, namespace, job string, within time.Duration) {
	t.Helper()
	harness.Eventually(t, within, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, job, batchv1.JobComplete)
	})
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, job)
		if err != nil {
			return err
		}
		if len(pods) != 1 || len(record.Pods(job)) == 0 {
			return fmt.Errorf("%d Pods of %s are there, %d were seen", len(pods), job, len(record.Pods(job)))
		}
		for i := range pods {
			if harness.Tracked(&pods[i]) {
				return fmt.Errorf("pod %s still carries the tracking finalizer", pods[i].Name)
			}
		}
		return ended(ctx, harness.JobWorkflow(namespace, job))
	})
	if seen := record.Pods(job); len(seen) != 1 {
		t.Errorf("%d Pods were created for %s: %v", len(seen), job, namesOf(seen))
	}
	finished, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), job, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := completeStatus(finished.Status); err != nil {
		t.Errorf("status of %s: %v: %+v", job, err, finished.Status)
	}
}

func namesOf(pods []*corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

// completeStatus checks the status of a Job whose one Pod succeeded.
func completeStatus(status batchv1.JobStatus) error {
	var types []batchv1.JobConditionType
	for _, condition := range status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			types = append(types, condition.Type)
		}
	}
	switch {
	case !slices.Equal(types, []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}):
		return fmt.Errorf("conditions %v", types)
	case status.Succeeded != 1 || status.Failed != 0 || status.Active != 0:
		return errors.New("wrong counts")
	case status.Ready == nil || *status.Ready != 0 || status.Terminating == nil || *status.Terminating != 0:
		return errors.New("wrong ready or terminating")
	case status.StartTime == nil || status.CompletionTime == nil:
		return errors.New("no startTime or completionTime")
	case status.UncountedTerminatedPods != nil && len(status.UncountedTerminatedPods.Succeeded)+len(status.UncountedTerminatedPods.Failed) > 0:
		return errors.New("uncounted Pods")
	}
	return nil
}

// ended returns nil when the workflow has completed.
func ended(ctx context.Context, workflowID string) error {
	status, err := stack.WorkflowStatus(ctx, workflowID)
	if err != nil {
		return err
	}
	if status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return fmt.Errorf("workflow %s is %s", workflowID, status)
	}
	return nil
}
