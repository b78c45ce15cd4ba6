package cronjobs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// twoMinutes bounds the wait for the run after the next, and for it.
const twoMinutes = time.Minute + harness.NextMinute

type option func(*batchv1.CronJob)

func policy(policy batchv1.ConcurrencyPolicy) option {
	return func(cronJob *batchv1.CronJob) { cronJob.Spec.ConcurrencyPolicy = policy }
}

func suspended(cronJob *batchv1.CronJob) { cronJob.Spec.Suspend = new(true) }

// create creates a CronJob of batch/v1.
func create(t *testing.T, h *harness.Harness, namespace, name, schedule string, job batchv1.JobSpec, options ...option) *batchv1.CronJob {
	t.Helper()
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1.CronJobSpec{Schedule: schedule, JobTemplate: batchv1.JobTemplateSpec{Spec: job}},
	}
	for _, apply := range options {
		apply(cronJob)
	}
	created, err := h.Kubernetes.BatchV1().CronJobs(namespace).Create(t.Context(), cronJob, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func get(ctx context.Context, t *testing.T, h *harness.Harness, namespace, name string) *batchv1.CronJob {
	t.Helper()
	cronJob, err := h.Kubernetes.BatchV1().CronJobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cronJob
}

func patch(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if _, err := stack.Kubernetes.BatchV1().CronJobs(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// taken waits until a workflow has the CronJob's newest generation.
func taken(t *testing.T, h *harness.Harness, namespace, name string) {
	t.Helper()
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		cronJob := get(ctx, t, h, namespace, name)
		if cronJob.Annotations[names.ObservedGenerationAnnotation] != fmt.Sprint(cronJob.Generation) {
			return fmt.Errorf("generation %d, annotations %v", cronJob.Generation, cronJob.Annotations)
		}
		return nil
	})
}

// runs waits until so many scheduled times of the CronJob have their Job.
func runs(t *testing.T, record *harness.Record, cronJob string, want int, within time.Duration) {
	t.Helper()
	harness.Eventually(t, within, func(context.Context) error {
		if got := len(record.Scheduled(cronJob)); got < want {
			return fmt.Errorf("%d runs of %s, want %d", got, cronJob, want)
		}
		return nil
	})
}

// everyMinute checks that the CronJob has one Job for each minute from the first on.
func everyMinute(t *testing.T, record *harness.Record, cronJob string) {
	t.Helper()
	if err := record.Duplicates(cronJob); err != nil {
		t.Error(err)
	}
	var first, last time.Time
	scheduled := record.Scheduled(cronJob)
	for at := range scheduled {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	for at := first; at.Before(last); at = at.Add(time.Minute) {
		if len(scheduled[at]) == 0 {
			t.Errorf("no run of %s at %s, between %s and %s", cronJob, at, first, last)
		}
	}
}

func workflowOf(namespace, name string) string {
	return names.Cluster("").NativeCronJobWorkflowID(namespace, name)
}

func workflowIs(ctx context.Context, h *harness.Harness, id string, want enums.WorkflowExecutionStatus) error {
	status, err := h.WorkflowStatus(ctx, id)
	if err == nil && status != want {
		err = fmt.Errorf("workflow %s is %s, not %s", id, status, want)
	}
	return err
}
