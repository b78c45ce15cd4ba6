package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// A minutely CronJob runs to completion at successive minutes, and its object
// says so.
func TestMinutelyCronJobRunsAgainAndAgain(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "hello", harness.Minutely, harness.JobSpec()))

	harness.Eventually(t, 2*harness.NextMinute, func(ctx context.Context) error {
		return complete(ctx, namespace, 2)
	})
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		scheduled, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
		if err != nil {
			t.Fatalf("the annotation of %s is not a time: %v", job.Name, err)
		}
		if want := names.ScheduledJob("hello", scheduled); job.Name != want || scheduled.Second() != 0 {
			t.Errorf("Job for %s is named %s, want %s", scheduled, job.Name, want)
		}
		if late := job.CreationTimestamp.Sub(scheduled); late < 0 || late > harness.Late {
			t.Errorf("%s was created %s after its time", job.Name, late)
		}
		owner := metav1.GetControllerOf(&job)
		if owner == nil || owner.Kind != "CronJob" || owner.APIVersion != ostinatov1.GroupVersion.String() {
			t.Errorf("%s is controlled by %+v", job.Name, owner)
		}
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "hello")
		if err != nil {
			return err
		}
		status := cronJob.Status
		switch {
		case len(status.Active) != 0:
			return fmt.Errorf("active: %v", status.Active)
		case status.LastScheduleTime == nil || status.LastSuccessfulTime == nil:
			return errors.New("lastScheduleTime or lastSuccessfulTime is not set")
		case status.NextScheduleTime == nil || !status.NextScheduleTime.After(status.LastScheduleTime.Time):
			return fmt.Errorf("next %v, last %v", status.NextScheduleTime, status.LastScheduleTime)
		case status.ObservedGeneration != cronJob.Generation:
			return fmt.Errorf("observed %d of %d", status.ObservedGeneration, cronJob.Generation)
		case status.Workflow == nil || status.Workflow.ID != harness.CronJobWorkflow(namespace, "hello"):
			return fmt.Errorf("workflow: %+v", status.Workflow)
		}
		return stack.HasEvent(ctx, namespace, "CronJob", "hello", "SawCompletedJob")
	})
	for _, reason := range []string{"UnexpectedJob", "MissingJob"} {
		if err := stack.HasEvent(t.Context(), namespace, "CronJob", "hello", reason); err == nil {
			t.Errorf("there is an Event %s", reason)
		}
	}
}

// complete returns nil when the namespace has that many Complete Jobs.
func complete(ctx context.Context, namespace string, want int) error {
	jobs, err := stack.Jobs(ctx, namespace)
	if err != nil {
		return err
	}
	done := 0
	for i := range jobs {
		if harness.HasCondition(&jobs[i], batchv1.JobComplete) {
			done++
		}
	}
	if done < want {
		return fmt.Errorf("%d of %d Jobs are Complete", done, len(jobs))
	}
	return nil
}

// History limits keep the newest finished Jobs.
func TestHistoryLimitsKeepTheNewest(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	cronJob := harness.NewCronJob(namespace, "limited", harness.Yearly, harness.JobSpec())
	cronJob.Spec.SuccessfulJobsHistoryLimit = ptr.To(int32(1))
	stack.CreateCronJob(t, cronJob)
	awaitWorkflow(t, namespace, "limited")
	for range 3 {
		before, err := stack.Jobs(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		harness.NextSecond(t)
		stack.Signal(t, harness.CronJobWorkflow(namespace, "limited"), protocol.TriggerSignal, nil)
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			jobs, err := stack.Jobs(ctx, namespace)
			if err != nil {
				return err
			}
			if len(jobs) != 1 || !harness.HasCondition(&jobs[0], batchv1.JobComplete) || (len(before) == 1 && before[0].UID == jobs[0].UID) {
				return fmt.Errorf("%d Jobs, want the newest alone and Complete", len(jobs))
			}
			return nil
		})
	}
}

// A Job that a person creates with our managedBy runs, fails, backs off and ends.
func TestStandaloneJobs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec   batchv1.JobSpec
		want   batchv1.JobConditionType
		within time.Duration
		pods   int
	}{
		"one Pod succeeds":         {harness.JobSpec(), batchv1.JobComplete, harness.Prompt, 1},
		"five Pods, two at a time": {harness.JobSpec(harness.Parallelism(2), harness.Completions(5)), batchv1.JobComplete, 3 * harness.Prompt, 5},
		"one failure and no more":  {harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(0)), batchv1.JobFailed, harness.Prompt, 1},
		"two attempts, back-off":   {harness.JobSpec(harness.ExitCode(1), harness.BackoffLimit(1)), batchv1.JobFailed, harness.PodBackoff + harness.Prompt, 2},
		"forty Pods at once":       {harness.JobSpec(harness.Parallelism(40), harness.Completions(40)), batchv1.JobComplete, harness.Bulk, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			stack.CreateJob(t, namespace, "standalone", test.spec)
			harness.Eventually(t, test.within, func(ctx context.Context) error {
				return stack.JobHas(ctx, namespace, "standalone", test.want)
			})
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return released(ctx, namespace) })
			pods, err := stack.Pods(t.Context(), namespace)
			if err != nil {
				t.Fatal(err)
			}
			if len(pods) != test.pods {
				t.Errorf("there are %d Pods, want %d", len(pods), test.pods)
			}
		})
	}
}

// released returns nil when no Pod of the namespace carries the tracking finalizer.
func released(ctx context.Context, namespace string) error {
	pods, err := stack.Pods(ctx, namespace)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if tracked(pod) {
			return fmt.Errorf("pod %s still carries the finalizer", pod.Name)
		}
	}
	return nil
}

func tracked(pod corev1.Pod) bool {
	for _, finalizer := range pod.Finalizers {
		if finalizer == names.TrackingFinalizer {
			return true
		}
	}
	return false
}

// awaitWorkflow waits until the workflow took the CronJob over.
func awaitWorkflow(t *testing.T, namespace, name string) {
	t.Helper()
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, name)
		if err != nil {
			return err
		}
		if cronJob.Status.ObservedGeneration != cronJob.Generation {
			return fmt.Errorf("observed generation %d of %d", cronJob.Status.ObservedGeneration, cronJob.Generation)
		}
		return nil
	})
}
