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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// Suspend, resume and trigger by signal, sent by the real command line tool.
func TestSignalsOfTheTemporalCommand(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, harness.JobSpec()))
	awaitWorkflow(t, namespace, "hello")
	signal := func(name string, more ...string) {
		t.Helper()
		args := append([]string{"workflow", "signal", "--workflow-id", harness.CronJobWorkflow(namespace, "hello"), "--name", name}, more...)
		if _, err := stack.Stack.Temporal(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}

	signal("suspend")
	harness.Eventually(t, harness.Prompt, suspended(namespace, "hello", true))
	signal("resume", "--input", `{"note": "maintenance is over", "by": "ada", "force": true}`)
	harness.Eventually(t, harness.Prompt, suspended(namespace, "hello", false))
	cronJob, err := stack.CronJob(t.Context(), namespace, "hello")
	if err != nil {
		t.Fatal(err)
	}
	if note, by := cronJob.Annotations[names.SuspendNoteAnnotation], cronJob.Annotations[names.SuspendedByAnnotation]; note != "maintenance is over" || by != "ada" {
		t.Errorf("the object says %q by %q", note, by)
	}
	signal("trigger", "--input", `"a plain note"`)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
	jobs, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	if jobs[0].Annotations[names.InstantiateAnnotation] != "manual" {
		t.Errorf("the triggered Job's annotations are %v", jobs[0].Annotations)
	}
	if cronJob, err = stack.CronJob(t.Context(), namespace, "hello"); err != nil || cronJob.Status.LastScheduleTime != nil {
		t.Errorf("a manual run set lastScheduleTime to %v (%v)", cronJob.Status.LastScheduleTime, err)
	}
}

// suspended returns a check that the object, its condition and the workflow agree.
func suspended(namespace, name string, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, name)
		if err != nil {
			return err
		}
		if cronJob.Spec.Suspend == nil || *cronJob.Spec.Suspend != want {
			return fmt.Errorf("spec.suspend is %v", cronJob.Spec.Suspend)
		}
		description, err := stack.DescribeCronJob(ctx, namespace, name)
		if err != nil {
			return err
		}
		if description.Spec.Suspend != want {
			return fmt.Errorf("the workflow has suspend %t", description.Spec.Suspend)
		}
		return conditionIs(cronJob, ostinatov1.ConditionSuspended, want)
	}
}

func conditionIs(cronJob *ostinatov1.CronJob, kind string, want bool) error {
	for _, condition := range cronJob.Status.Conditions {
		if condition.Type == kind && (condition.Status == metav1.ConditionTrue) == want {
			return nil
		}
	}
	return fmt.Errorf("condition %s is not %t: %+v", kind, want, cronJob.Status.Conditions)
}

// onePeriod covers one scheduled time of a CronJob that is due every minute.
const onePeriod = time.Minute + 5*time.Second

// An edit of spec.suspend reaches the workflow, and no run starts while suspended.
func TestEditOfSuspendReachesTheWorkflow(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "minutely", harness.Minutely, harness.JobSpec()))
	awaitWorkflow(t, namespace, "minutely")
	patchSuspend(t, namespace, "minutely", true)
	harness.Eventually(t, harness.Prompt, suspended(namespace, "minutely", true))
	before, err := stack.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	harness.Always(t, onePeriod, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err == nil && len(jobs) > len(before) {
			return errors.New("a run started while suspended")
		}
		return err
	})
	patchSuspend(t, namespace, "minutely", false)
	harness.Eventually(t, harness.Prompt, suspended(namespace, "minutely", false))
	// The newest missed time runs at once on resume, as upstream does.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, len(before)+1) })
}

func patchSuspend(t *testing.T, namespace, name string, suspend bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend)
	if _, err := stack.CronJobs.CronJobs(namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A trigger works while suspended. One with an argument that nobody understands, and a signal that there is not, are answered
// by an Event.
func TestTriggerWhileSuspended(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	cronJob := harness.NewCronJob(namespace, "paused", harness.Minutely, harness.JobSpec())
	cronJob.Spec.Suspend = ptr.To(true)
	stack.CreateCronJob(t, cronJob)
	awaitWorkflow(t, namespace, "paused")
	workflow := harness.CronJobWorkflow(namespace, "paused")
	stack.Signal(t, workflow, "triger", nil)
	stack.Signal(t, workflow, protocol.TriggerSignal, map[string]any{"args": []string{"x"}})
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		reasons, err := stack.EventReasons(ctx, namespace, "CronJob", "paused")
		if err == nil && (reasons["SignalUnknown"] != 1 || reasons["TriggerRefused"] != 1) {
			err = fmt.Errorf("the Events are %v", reasons)
		}
		return err
	})
	stack.Signal(t, workflow, protocol.TriggerSignal, "once more")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return complete(ctx, namespace, 1) })
	if err := suspended(namespace, "paused", true)(t.Context()); err != nil {
		t.Error(err)
	}
}

// Suspending a Job by signal removes its Pods; resuming it runs it anew.
func TestSuspendAndResumeOfAJob(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateJob(t, namespace, "pausable", harness.JobSpec(harness.RunSeconds(600)))
	running := func(want int) func(context.Context) error {
		return func(ctx context.Context) error {
			pods, err := stack.Pods(ctx, namespace)
			if err != nil {
				return err
			}
			active := 0
			for _, pod := range pods {
				if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
					active++
				}
			}
			if active != want {
				return fmt.Errorf("%d Pods run, want %d", active, want)
			}
			return nil
		}
	}
	harness.Eventually(t, harness.Prompt, running(1))
	stack.Signal(t, harness.JobWorkflow(namespace, "pausable"), protocol.SuspendSignal, nil)
	harness.Eventually(t, harness.Prompt, running(0))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, namespace, "pausable", batchv1.JobSuspended)
	})
	stack.Signal(t, harness.JobWorkflow(namespace, "pausable"), protocol.ResumeSignal, protocol.SignalNote{Note: "go on"})
	harness.Eventually(t, harness.Prompt, running(1))
	// The Pod is made before the status is written.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, "pausable", metav1.GetOptions{})
		if err == nil && (job.Status.Failed != 0 || job.Status.StartTime == nil) {
			err = fmt.Errorf("after suspend and resume the status is %+v", job.Status)
		}
		return err
	})
}
