package failure

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
)

// vanished returns nil when a Job and all its Pods are gone, and its workflow ended.
func vanished(ctx context.Context, namespace, job string) error {
	if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, job, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("job %s is still there (%v)", job, err)
	}
	pods, err := stack.PodsOf(ctx, namespace, job)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		return fmt.Errorf("pod %s is still there: phase %s, deleted %v, finalizers %v", pod.Name, pod.Status.Phase, pod.DeletionTimestamp, pod.Finalizers)
	}
	return ended(ctx, harness.JobWorkflow(namespace, job))
}

// A Job that is deleted while its Pod runs takes it along.
func TestJobDeletedWhileItsPodRuns(t *testing.T) {
	t.Parallel()
	run := startRun(t, 600)
	deleteJob(t, run.namespace, run.job)
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error { return vanished(ctx, run.namespace, run.job) })
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, run.namespace, run.cronJob)
		if err != nil {
			return err
		}
		if len(cronJob.Status.Active) > 0 {
			return fmt.Errorf("active: %v", cronJob.Status.Active)
		}
		return stack.HasEvent(ctx, run.namespace, "CronJob", run.cronJob, "MissingJob")
	})
}

// A CronJob that is deleted while a run is active takes Job and Pod along, and
// both workflows end.
func TestCronJobDeletedWhileARunIsActive(t *testing.T) {
	t.Parallel()
	run := startRun(t, 600)
	deleteCronJob(t, run.namespace, run.cronJob)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return ended(ctx, harness.CronJobWorkflow(run.namespace, run.cronJob))
	})
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error { return vanished(ctx, run.namespace, run.job) })
}

// A Job and a CronJob that are made again under their names at once have
// nothing to do with their predecessors.
func TestRecreatedAtOnce(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	old := startRunIn(t, namespace, record, "again", 600)
	stack.CreateJob(t, namespace, "standalone", harness.JobSpec(harness.RunSeconds(600)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.PodsAre(ctx, namespace, "standalone", "Running", 1) })

	deleteJob(t, namespace, "standalone")
	standalone := stack.CreateJob(t, namespace, "standalone", harness.JobSpec())
	deleteCronJob(t, namespace, "again")
	stack.AddCronJob(t, harness.NewCronJob(namespace, "again", harness.Yearly, harness.JobSpec()))

	finishesAnew(t, record, namespace, standalone)
	job := stack.Trigger(t, namespace, "again")
	if job == old.job {
		t.Errorf("the new CronJob's run has the name of the old one's, %s", job)
	}
	run{record: record, namespace: namespace, cronJob: "again", job: job}.finishesOnce(t, harness.Prompt)
	cronJob, err := stack.CronJob(t.Context(), namespace, "again")
	if err != nil {
		t.Fatal(err)
	}
	if len(cronJob.Status.Active) != 0 {
		t.Errorf("the new CronJob lists %v as active", cronJob.Status.Active)
	}
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error { return vanished(ctx, namespace, old.job) })
}

// A namespace that is deleted while Pods run in it goes away.
func TestNamespaceDeletedWhileAPodRuns(t *testing.T) {
	t.Parallel()
	run := startRun(t, 600)
	fragile := harness.JobSpec(harness.RunSeconds(600))
	fragile.BackoffLimit = ptr.To(int32(0)) // What becomes of its Pod would end it.
	stack.CreateJob(t, run.namespace, "fragile", fragile)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.PodsAre(ctx, run.namespace, "fragile", "Running", 1) })
	if err := stack.Kubernetes.CoreV1().Namespaces().Delete(t.Context(), run.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.NamespaceRemoved, func(ctx context.Context) error { return stack.NamespaceGone(ctx, run.namespace) })
	for _, workflow := range []string{
		harness.CronJobWorkflow(run.namespace, run.cronJob), harness.JobWorkflow(run.namespace, run.job), harness.JobWorkflow(run.namespace, "fragile"),
	} {
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return ended(ctx, workflow) })
	}
}
