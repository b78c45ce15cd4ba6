package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// Jobs that nobody marked live their whole lives, and nothing is refused.
func TestAWholeLifeUnderTakeOver(t *testing.T) {
	namespace := stack.Namespace(t)
	t.Run("Jobs", func(t *testing.T) {
		for name, live := range map[string]func(*testing.T, string){
			"completes":             completes,
			"names the built-in":    namesTheBuiltIn,
			"another controller's":  anotherControllers,
			"fails and retries":     failsAndRetries,
			"is edited and deleted": isEditedAndDeleted,
			"leaves its Pods":       leavesItsPods,
			"is re-created at once": isRecreatedAtOnce,
			"of a native CronJob":   ofANativeCronJob,
			"is gone after its TTL": isGoneAfterItsTTL,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				live(t, namespace)
			})
		}
	})
	for _, member := range slices.Concat(stack.Workers(), stack.Bridges()) {
		deployment.NothingForbidden(t, member.LogFile())
	}
	probes, err := deployment.Probes(t.Context(), stack.Stack)
	if err != nil || probes != "" {
		t.Errorf("probes are left: %s %v", probes, err)
	}
}

// create creates a Job as it comes, without managedBy.
func create(t *testing.T, namespace, name string, options ...harness.JobOption) *batchv1.Job {
	t.Helper()
	created, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: harness.JobSpec(options...)}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func completes(t *testing.T, namespace string) {
	create(t, namespace, "plain", harness.Completions(3), harness.Parallelism(2))
	jobIs(t, namespace, "plain", batchv1.JobComplete)
	job := get(t, namespace, "plain")
	if job.Status.Succeeded != 3 || !slices.Contains(writers(job.ManagedFields), k8s.JobFieldManager) {
		t.Errorf("status %+v by %v", job.Status, writers(job.ManagedFields))
	}
	workflowEnds(t, harness.JobWorkflow(namespace, "plain"))
	harness.Eventually(t, patience, func(ctx context.Context) error { return stack.HasEvent(ctx, namespace, "Job", "plain", "Completed") })
}

func namesTheBuiltIn(t *testing.T, namespace string) {
	create(t, namespace, "explicit", func(spec *batchv1.JobSpec) {
		spec.ManagedBy = ptr.To(batchv1.JobControllerName)
	})
	jobIs(t, namespace, "explicit", batchv1.JobComplete)
}

func anotherControllers(t *testing.T, namespace string) {
	create(t, namespace, "theirs", func(spec *batchv1.JobSpec) {
		spec.ManagedBy = ptr.To("other.example/controller")
	})
	create(t, namespace, "after-theirs")
	jobIs(t, namespace, "after-theirs", batchv1.JobComplete)
	if job := get(t, namespace, "theirs"); job.Status.StartTime != nil || len(writers(job.ManagedFields)) > 0 {
		t.Errorf("the Job of another controller was touched: %+v by %v", job.Status, writers(job.ManagedFields))
	}
}

func failsAndRetries(t *testing.T, namespace string) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fails", Annotations: map[string]string{names.BackoffBaseAnnotation: "1"}},
		Spec:       harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(2)),
	}
	if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	jobIs(t, namespace, "fails", batchv1.JobFailed)
	if status := get(t, namespace, "fails").Status; status.Failed != 3 {
		t.Errorf("status %+v, want 3 failed Pods", status)
	}
}

func isEditedAndDeleted(t *testing.T, namespace string) {
	create(t, namespace, "edited", harness.Parallelism(2), harness.Completions(50), harness.RunSeconds(600))
	podsRun(t, namespace, "edited", 2)
	patch(t, namespace, "edited", `{"spec":{"parallelism":4}}`)
	podsRun(t, namespace, "edited", 4)
	patch(t, namespace, "edited", `{"spec":{"suspend":true}}`)
	jobIs(t, namespace, "edited", batchv1.JobSuspended)
	podsRun(t, namespace, "edited", 0)
	patch(t, namespace, "edited", `{"spec":{"suspend":false}}`)
	podsRun(t, namespace, "edited", 4)
	remove(t, namespace, "edited", metav1.DeletePropagationBackground)
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, "edited")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d Pods of the deleted Job are left", len(pods))
		}
		return err
	})
	workflowEnds(t, harness.JobWorkflow(namespace, "edited"))
}

// With propagation Orphan, which is the API's default for Jobs, Pods run on, free
// of what would keep them from being deleted.
func leavesItsPods(t *testing.T, namespace string) {
	create(t, namespace, "leaves", harness.RunSeconds(600))
	podsRun(t, namespace, "leaves", 1)
	remove(t, namespace, "leaves", metav1.DeletePropagationOrphan)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, "leaves")
		if err != nil {
			return err
		}
		if len(pods) != 1 || len(pods[0].Finalizers) > 0 || len(pods[0].OwnerReferences) > 0 {
			return fmt.Errorf("Pods %+v, want one without finalizer and owner", pods)
		}
		return nil
	})
	workflowEnds(t, harness.JobWorkflow(namespace, "leaves"))
}

// A Job created under the name of one deleted a moment before starts from nothing.
func isRecreatedAtOnce(t *testing.T, namespace string) {
	first := create(t, namespace, "again", harness.Completions(5), harness.Parallelism(5), harness.ExitCode(1), harness.BackoffLimit(50))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if failed := get(t, namespace, "again").Status.Failed; failed < 5 {
			return fmt.Errorf("%d Pods have failed, want a back-off", failed)
		}
		return nil
	})
	remove(t, namespace, "again", metav1.DeletePropagationBackground)
	var second *batchv1.Job
	harness.Eventually(t, patience, func(ctx context.Context) error {
		var err error
		second, err = stack.Kubernetes.BatchV1().Jobs(namespace).Create(ctx,
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again"}, Spec: harness.JobSpec(harness.Completions(2), harness.Parallelism(2))}, metav1.CreateOptions{})
		return err
	})
	// The old one's back-off, 160 s after five failures, would hold it up for longer than this waits.
	jobIs(t, namespace, "again", batchv1.JobComplete)
	job := get(t, namespace, "again")
	if job.UID != second.UID || job.UID == first.UID || job.Status.Succeeded != 2 || job.Status.Failed != 0 {
		t.Errorf("the new Job has the status %+v", job.Status)
	}
}

// The built-in CronJob controller creates the Job, Ostinato runs it, the built-in
// CronJob controller hears of its end.
func ofANativeCronJob(t *testing.T, namespace string) {
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "native"},
		Spec: batchv1.CronJobSpec{Schedule: harness.Minutely, JobTemplate: batchv1.JobTemplateSpec{
			Spec: harness.JobSpec(),
		}},
	}
	if _, err := stack.Kubernetes.BatchV1().CronJobs(namespace).Create(t.Context(), cronJob, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error {
		native, err := stack.Kubernetes.BatchV1().CronJobs(namespace).Get(ctx, "native", metav1.GetOptions{})
		if err == nil && native.Status.LastSuccessfulTime == nil {
			err = fmt.Errorf("the CronJob has had no successful run: %+v", native.Status)
		}
		return err
	})
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		if owner := metav1.GetControllerOf(&job); owner != nil && owner.Name == "native" {
			workflowEnds(t, harness.JobWorkflow(namespace, job.Name))
			return
		}
	}
	t.Error("the CronJob has no Job")
}

// kube-controller-manager deletes it, whoever ran it.
func isGoneAfterItsTTL(t *testing.T, namespace string) {
	job := create(t, namespace, "short-lived", harness.TTLAfterFinished(0))
	jobGone(t, namespace, "short-lived", job.UID)
	workflowEnds(t, harness.JobWorkflow(namespace, "short-lived"))
}

func get(t *testing.T, namespace, name string) *batchv1.Job {
	t.Helper()
	job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func patch(t *testing.T, namespace, name, patch string) {
	t.Helper()
	if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, namespace, name string, propagation metav1.DeletionPropagation) {
	t.Helper()
	if err := stack.Kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil {
		t.Fatal(err)
	}
}

func jobGone(t *testing.T, namespace, name string, uid types.UID) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && job.UID != uid {
			return nil
		}
		return errors.Join(err, fmt.Errorf("Job %s exists: %+v", name, job.Status))
	})
}

func jobIs(t *testing.T, namespace, name string, condition batchv1.JobConditionType) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, name, condition) })
}

func podsRun(t *testing.T, namespace, job string, want int) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		return stack.PodsAre(ctx, namespace, job, corev1.PodRunning, want)
	})
}

func workflowEnds(t *testing.T, id string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		status, err := stack.WorkflowStatus(ctx, id)
		if err == nil && status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			err = fmt.Errorf("workflow %s is %s", id, status)
		}
		return err
	})
}
