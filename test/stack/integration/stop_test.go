package integration

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
)

// hangs is the spec of a Job whose Pods never end by themselves.
func hangs(options ...harness.JobOption) batchv1.JobSpec {
	spec := harness.JobSpec(append(options, harness.RunUntilEnded())...)
	spec.ManagedBy = ptr.To(names.JobController)
	return spec
}

// stoppedAs returns a check that a Job has failed by its stop, in these words, and that none of its Pods runs.
func stoppedAs(namespace, name, message string) func(context.Context) error {
	return func(ctx context.Context) error {
		found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == batchv1.JobFailed && condition.Reason == event.Stopped && condition.Message == message {
				if found.Status.Active != 0 || ptr.Deref(found.Status.Terminating, 0) != 0 {
					return fmt.Errorf("status %+v", found.Status)
				}
				return stack.HasEvent(ctx, namespace, "Job", name, event.Stopped)
			}
		}
		return fmt.Errorf("it is not Failed by %q: %+v", message, found.Status.Conditions)
	}
}

// annotate stops a Job as kubectl annotate does.
func annotate(t *testing.T, namespace, name, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, names.StopAnnotation, value)
	if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A run is stopped by the command, and its row says by whom.
func TestARunIsStoppedByTheCommand(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "hello", harness.Yearly, hangs(harness.Parallelism(2), harness.Completions(2))))
	run := stack.Trigger(t, namespace, "hello")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.PodsAre(ctx, namespace, run, "Running", 2) })
	ada := newPerson(t, namespace)
	ada.says([]string{namespace + "/" + run + " stopped"}, "stop", run, "--by", "ada", "--reason", "it hangs")
	const by = "by ada (claimed): it hangs"
	harness.Eventually(t, harness.Prompt, stoppedAs(namespace, run, "Job was stopped "+by))
	ada.says([]string{"Failed", "Stopped " + by}, "runs", "hello")
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob, err := stack.CronJob(ctx, namespace, "hello")
		if err != nil {
			return err
		}
		if rows := cronJob.Status.RecentRuns; len(rows) != 1 || rows[0].Stopped != by || cronJob.Status.ConsecutiveFailures != 0 {
			return fmt.Errorf("status %+v", cronJob.Status)
		}
		return nil
	})
	ada.answers(1, []string{"left as it is: it has ended: Failed (Stopped)"}, "stop", run)
}

// A Job without a CronJob is stopped by its annotation, whatever it is about to do.
func TestAJobIsStoppedByItsAnnotation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []harness.JobOption
		pods    int
		before  bool
	}{
		"runs":          {pods: 1},
		"is-suspended":  {options: []harness.JobOption{harness.Suspended()}},
		"is-new":        {before: true},
		"per-index":     {options: []harness.JobOption{harness.Indexed(2), harness.Parallelism(2), harness.BackoffLimitPerIndex(1)}, pods: 2},
		"replaces-late": {options: []harness.JobOption{harness.PodReplacementPolicy(batchv1.Failed)}, pods: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := stack.Namespace(t)
			if test.before {
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{names.StopAnnotation: "it hangs"}}, Spec: hangs(test.options...)}
				if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			} else {
				stack.CreateJob(t, namespace, name, hangs(test.options...))
				harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
					if test.pods == 0 {
						return stack.JobHas(ctx, namespace, name, batchv1.JobSuspended)
					}
					return stack.PodsAre(ctx, namespace, name, "Running", test.pods)
				})
				annotate(t, namespace, name, "it hangs")
			}
			harness.Eventually(t, harness.Prompt, stoppedAs(namespace, name, "Job was stopped: it hangs"))
			pods, err := stack.Pods(t.Context(), namespace)
			if err != nil || test.before && len(pods) > 0 {
				t.Errorf("%d Pods, %v", len(pods), err)
			}
		})
	}
}

// A Job that has ended stays as it is.
func TestAJobThatHasEndedIsNotStopped(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	spec := harness.JobSpec(harness.RunSeconds(0))
	spec.ManagedBy = ptr.To(names.JobController)
	stack.CreateJob(t, namespace, "short", spec)
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, "short", batchv1.JobComplete) })
	annotate(t, namespace, "short", "too late")
	harness.Always(t, onePeriod, func(ctx context.Context) error {
		if stack.JobHas(ctx, namespace, "short", batchv1.JobFailed) == nil {
			return fmt.Errorf("it has failed")
		}
		return nil
	})
}
