// Package life is what a CronJob and Jobs do in their lives that needs rights, to be
// lived under each installation.
package life

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// patience bounds one step of a life, in which a Pod may fail once.
const patience = harness.PodBackoff + harness.Prompt

// Whole has a CronJob live its whole life, and Jobs do all that needs rights, in a
// namespace that the stack serves. It fails the test where anything is refused.
func Whole(t *testing.T, stack *harness.Harness, namespace string) {
	t.Run("work", func(t *testing.T) {
		t.Run("CronJob", func(t *testing.T) {
			t.Parallel()
			liveCronJob(t, stack, namespace)
		})
		t.Run("Replace", func(t *testing.T) {
			t.Parallel()
			replace(t, stack, namespace)
		})
		t.Run("Jobs", func(t *testing.T) {
			t.Parallel()
			liveJobs(t, stack, namespace)
		})
		t.Run("Orphans", func(t *testing.T) {
			t.Parallel()
			leavePods(t, stack, namespace)
		})
	})
	for _, member := range slices.Concat(stack.Workers(), stack.Bridges()) {
		deployment.NothingForbidden(t, member.LogFile())
	}
	events, err := stack.Kubernetes.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if strings.Contains(strings.ToLower(event.Message), "forbidden") {
			t.Errorf("Event on %s: %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
		}
	}
}

// liveCronJob fires by trigger, completes, prunes its history, is suspended and
// resumed from both sides, and is deleted.
func liveCronJob(t *testing.T, stack *harness.Harness, namespace string) {
	cronJob := harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec())
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(1))
	stack.AddCronJob(t, cronJob)
	first := stack.Trigger(t, namespace, "hello")
	jobIs(t, stack, namespace, first, batchv1.JobComplete)
	harness.NextSecond(t)
	second := stack.Trigger(t, namespace, "hello")
	jobIs(t, stack, namespace, second, batchv1.JobComplete)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err == nil && slices.ContainsFunc(jobs, func(job batchv1.Job) bool { return job.Name == first }) &&
			slices.ContainsFunc(jobs, func(job batchv1.Job) bool { return job.Name == second }) {
			err = errors.New("no run was deleted, though one more is kept than the history limit allows")
		}
		return err
	})
	harness.Eventually(t, patience, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "hello", "SawCompletedJob")
	})

	stack.Signal(t, harness.CronJobWorkflow(namespace, "hello"), protocol.SuspendSignal, nil)
	suspendedIs(t, stack, namespace, true)
	patch(t, stack, namespace, `{"spec":{"suspend":false}}`)
	suspendedIs(t, stack, namespace, false)
	patch(t, stack, namespace, `{"spec":{"suspend":true}}`)
	suspendedIs(t, stack, namespace, true)
	stack.Signal(t, harness.CronJobWorkflow(namespace, "hello"), protocol.ResumeSignal, nil)
	suspendedIs(t, stack, namespace, false)

	if err := stack.CronJobs.CronJobs(namespace).Delete(t.Context(), "hello", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	workflowEnds(t, stack, harness.CronJobWorkflow(namespace, "hello"))
}

// replace deletes a running run for a new one.
func replace(t *testing.T, stack *harness.Harness, namespace string) {
	stack.AddCronJob(t, harness.NewCronJob(namespace, "newest", harness.Yearly,
		harness.JobSpec(harness.RunSeconds(600)), harness.Policy(batchv1.ReplaceConcurrent)))
	first := stack.Trigger(t, namespace, "newest")
	podsRun(t, stack, namespace, first, 1)
	second := stack.Trigger(t, namespace, "newest")
	podsRun(t, stack, namespace, second, 1)
	workflowEnds(t, stack, harness.JobWorkflow(namespace, first))
}

// liveJobs creates and deletes Pods one by one and in bulk, and retries.
func liveJobs(t *testing.T, stack *harness.Harness, namespace string) {
	stack.CreateJob(t, namespace, "bulk", harness.JobSpec(harness.Parallelism(15), harness.Completions(15), harness.RunSeconds(600)))
	stack.CreateJob(t, namespace, "fails", harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(1)))
	podsRun(t, stack, namespace, "bulk", 15)
	stack.Signal(t, harness.JobWorkflow(namespace, "bulk"), protocol.SuspendSignal, nil)
	jobIs(t, stack, namespace, "bulk", batchv1.JobSuspended)
	podsRun(t, stack, namespace, "bulk", 0)
	stack.Signal(t, harness.JobWorkflow(namespace, "bulk"), protocol.ResumeSignal, nil)
	podsRun(t, stack, namespace, "bulk", 15)
	background := metav1.DeletePropagationBackground
	if err := stack.Kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), "bulk", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, "bulk")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d Pods of the deleted Job are left", len(pods))
		}
		return err
	})
	workflowEnds(t, stack, harness.JobWorkflow(namespace, "bulk"))
	jobIs(t, stack, namespace, "fails", batchv1.JobFailed)
}

// leavePods deletes a Job that leaves its Pods behind, which nobody controls then.
func leavePods(t *testing.T, stack *harness.Harness, namespace string) {
	stack.CreateJob(t, namespace, "leaves", harness.JobSpec(harness.RunSeconds(600)))
	podsRun(t, stack, namespace, "leaves", 1)
	orphan := metav1.DeletePropagationOrphan
	if err := stack.Kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), "leaves", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, "leaves")
		if err == nil && (len(pods) != 1 || len(pods[0].Finalizers) > 0 || len(pods[0].OwnerReferences) > 0) {
			err = fmt.Errorf("the Pods left are %+v, want one without finalizer and owner", pods)
		}
		return err
	})
	workflowEnds(t, stack, harness.JobWorkflow(namespace, "leaves"))
}

func jobIs(t *testing.T, stack *harness.Harness, namespace, name string, condition batchv1.JobConditionType) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, name, condition) })
}

func podsRun(t *testing.T, stack *harness.Harness, namespace, job string, want int) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		return stack.PodsAre(ctx, namespace, job, corev1.PodRunning, want)
	})
}

func workflowEnds(t *testing.T, stack *harness.Harness, id string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		status, err := stack.WorkflowStatus(ctx, id)
		if err == nil && status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			err = fmt.Errorf("workflow %s is %s", id, status)
		}
		return err
	})
}

func patch(t *testing.T, stack *harness.Harness, namespace, patch string) {
	t.Helper()
	if _, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), "hello", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// suspendedIs waits until object, condition and workflow agree.
func suspendedIs(t *testing.T, stack *harness.Harness, namespace string, want bool) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "hello")
		if err != nil {
			return err
		}
		description, err := stack.DescribeCronJob(ctx, namespace, "hello")
		if err != nil {
			return err
		}
		condition := slices.ContainsFunc(cronJob.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == ostinatov1.ConditionSuspended && c.Status == metav1.ConditionTrue
		})
		spec := cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend
		if spec != want || description.Spec.Suspend != want || condition != want {
			return fmt.Errorf("suspended: spec %t, workflow %t, condition %t, want %t", spec, description.Spec.Suspend, condition, want)
		}
		return nil
	})
}
