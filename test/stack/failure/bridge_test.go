package failure

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
)

// bridgeBound is how long a new bridge may take to bring up what happened while
// there was none: its lease and one look at everything.
const bridgeBound = harness.LeaseTakeOver + harness.Slack

// The bridge is killed in the middle of an edit and while a Pod runs. Runs
// neither need it to finish nor to be triggered, and the next bridge
// makes up for everything that happened to objects in between.
func TestBridgeKilled(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	run := startRunIn(t, namespace, record, "steady", 5)
	for _, name := range []string{"edited", "edited-before", "deleted", "recreated"} {
		stack.AddCronJob(t, harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec()))
	}
	stack.CreateJob(t, namespace, "again", harness.JobSpec(harness.RunSeconds(600)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.PodsAre(ctx, namespace, "again", "Running", 1) })

	suspend(t, namespace, "edited-before")
	killBridge(t)

	suspend(t, namespace, "edited")
	deleteCronJob(t, namespace, "deleted")
	deleteCronJob(t, namespace, "recreated")
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "recreated", harness.Yearly, harness.JobSpec()))
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "new", harness.Yearly, harness.JobSpec()))
	deleteJob(t, namespace, "again")
	again := stack.CreateJob(t, namespace, "again", harness.JobSpec())
	run.podEnded(t)
	run.finishesOnce(t, harness.Prompt)
	triggered := stack.Trigger(t, namespace, "steady")
	finishesOnce(t, record, namespace, triggered, harness.Prompt)

	startBridge(t)
	for _, name := range []string{"edited", "edited-before"} {
		harness.Eventually(t, bridgeBound, func(ctx context.Context) error { return suspended(ctx, namespace, name) })
	}
	harness.Eventually(t, bridgeBound, func(ctx context.Context) error {
		return ended(ctx, harness.CronJobWorkflow(namespace, "deleted"))
	})
	for _, name := range []string{"new", "recreated"} {
		harness.Eventually(t, bridgeBound, func(ctx context.Context) error { return stack.Observed(ctx, namespace, name) })
		finishesOnce(t, record, namespace, stack.Trigger(t, namespace, name), harness.Prompt)
	}
	finishesAnew(t, record, namespace, again)
}

// finishesAnew asserts that a Job that was made again under its name completes
// with one Pod of its own, and that the Pod of its predecessor is gone.
func finishesAnew(t *testing.T, record *harness.Record, namespace string, job *batchv1.Job) {
	t.Helper()
	harness.Eventually(t, bridgeBound, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, job.Name, batchv1.JobComplete)
	})
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, job.Name)
		if err != nil {
			return err
		}
		for i := range pods {
			if pods[i].Labels[batchv1.ControllerUidLabel] != string(job.UID) {
				return fmt.Errorf("pod %s of the deleted Job is still there, finalizers %v", pods[i].Name, pods[i].Finalizers)
			}
			if harness.Tracked(&pods[i]) {
				return fmt.Errorf("pod %s still carries the tracking finalizer", pods[i].Name)
			}
		}
		if len(pods) != 1 {
			return fmt.Errorf("%d Pods of the new Job", len(pods))
		}
		return ended(ctx, harness.JobWorkflow(namespace, job.Name))
	})
	own := 0
	for _, pod := range record.Pods(job.Name) {
		if pod.Labels[batchv1.ControllerUidLabel] == string(job.UID) {
			own++
		}
	}
	if own != 1 {
		t.Errorf("%d Pods were created for the new Job", own)
	}
	finished, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := completeStatus(finished.Status); err != nil || finished.UID != job.UID {
		t.Errorf("status of the new Job: %v: %+v", err, finished.Status)
	}
}

func suspend(t *testing.T, namespace, name string) {
	t.Helper()
	_, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// suspended returns nil when the workflow knows that its CronJob is suspended.
func suspended(ctx context.Context, namespace, name string) error {
	description, err := stack.DescribeCronJob(ctx, namespace, name)
	if err != nil {
		return err
	}
	if !description.Spec.Suspend {
		return fmt.Errorf("the workflow of %s has not heard of the suspension", name)
	}
	return stack.Observed(ctx, namespace, name)
}

func deleteCronJob(t *testing.T, namespace, name string) {
	t.Helper()
	if err := stack.CronJobs.CronJobs(namespace).Delete(t.Context(), name, background()); err != nil {
		t.Fatal(err)
	}
}

func deleteJob(t *testing.T, namespace, name string) {
	t.Helper()
	if err := stack.Kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), name, background()); err != nil {
		t.Fatal(err)
	}
}

// background deletes as kubectl does; a Job's own default would leave its Pods behind.
func background() metav1.DeleteOptions {
	policy := metav1.DeletePropagationBackground
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}
