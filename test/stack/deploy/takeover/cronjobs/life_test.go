package cronjobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// CronJobs that nobody marked live their whole lives, and nothing is refused.
func TestAWholeLifeUnderTakeOver(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	t.Run("CronJobs", func(t *testing.T) {
		for name, live := range map[string]func(*testing.T, string){
			"runs on schedule":         runsOnSchedule,
			"is suspended and resumed": isSuspendedAndResumed,
			"forbids overlap":          forbidsOverlap,
			"replaces":                 replaces,
			"beside one of ours":       besideOneOfOurs,
			"is deleted":               isDeleted,
			"a Job made by hand":       hasAJobMadeByHand,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				live(t, namespace)
			})
		}
	})
	nothingForbidden(t, stack, namespace)
}

func nothingForbidden(t *testing.T, h *harness.Harness, namespace string) {
	t.Helper()
	for _, member := range slices.Concat(h.Workers(), h.Bridges()) {
		deployment.NothingForbidden(t, member.LogFile())
	}
	events, err := h.Kubernetes.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if strings.Contains(strings.ToLower(event.Message), "forbidden") {
			t.Errorf("Event on %s: %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
		}
	}
}

// Two runs on time; of the Jobs that the built-in controller completes one is kept.
func runsOnSchedule(t *testing.T, namespace string) {
	record := stack.Record(t, namespace)
	create(t, stack, namespace, "scheduled", harness.Minutely, harness.JobSpec(), func(cronJob *batchv1.CronJob) {
		cronJob.Spec.SuccessfulJobsHistoryLimit = new(int32(1))
	})
	runs(t, record, "scheduled", 2, twoMinutes)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		var kept []string
		for _, job := range jobs {
			if owner := metav1.GetControllerOf(&job); owner != nil && owner.Name == "scheduled" {
				kept = append(kept, job.Name)
			}
		}
		status := get(ctx, t, stack, namespace, "scheduled").Status
		if len(kept) != 1 || len(status.Active) > 0 || status.LastSuccessfulTime == nil {
			return fmt.Errorf("Jobs %v, status %+v", kept, status)
		}
		return nil
	})
	everyMinute(t, record, "scheduled")
	cronJob := get(t.Context(), t, stack, namespace, "scheduled")
	for _, job := range record.Jobs("scheduled") {
		owner := metav1.GetControllerOf(job)
		if owner.APIVersion != "batch/v1" || owner.UID != cronJob.UID || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion || job.Spec.ManagedBy != nil {
			t.Errorf("owner %+v, managed by %v", owner, job.Spec.ManagedBy)
		}
		at, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
		if err != nil || job.Name != names.ScheduledJob("scheduled", at) || cronJob.Status.LastScheduleTime.Before(&metav1.Time{Time: at}) {
			t.Errorf("Job %s at %s: %v; last schedule time %s", job.Name, at, err, cronJob.Status.LastScheduleTime)
		}
		if late := job.CreationTimestamp.Sub(at); late < 0 || late > harness.Late {
			t.Errorf("Job %s was created %s after its time", job.Name, late)
		}
	}
	wrote := slices.ContainsFunc(cronJob.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == k8s.CronJobFieldManager && entry.Subresource == "status"
	})
	if link := cronJob.Annotations[names.WorkflowAnnotation]; !wrote || link != "default/"+workflowOf(namespace, "scheduled") {
		t.Errorf("annotations %v, written by %v", cronJob.Annotations, cronJob.ManagedFields)
	}
	for _, reason := range []string{"SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"} {
		harness.Eventually(t, harness.Slack, func(ctx context.Context) error {
			return stack.HasEvent(ctx, namespace, "CronJob", "scheduled", reason)
		})
	}
}

const (
	// deadline is the starting deadline of a suspended CronJob.
	deadline = 10 * time.Second
	// noRun is how long after it a run is seen not to start.
	noRun = 10 * time.Second
)

// By kubectl's patch and by signal; what is missed while it is suspended, and its
// starting deadline has passed, is not made up for.
func isSuspendedAndResumed(t *testing.T, namespace string) {
	record := stack.Record(t, namespace)
	create(t, stack, namespace, "suspended", harness.Minutely, harness.JobSpec(), suspended, func(cronJob *batchv1.CronJob) {
		cronJob.Spec.StartingDeadlineSeconds = new(int64(deadline.Seconds()))
	})
	taken(t, stack, namespace, "suspended")
	due := time.Now().Truncate(time.Minute).Add(time.Minute)
	harness.Always(t, time.Until(due.Add(deadline+noRun)), func(context.Context) error {
		if jobs := record.Jobs("suspended"); len(jobs) > 0 {
			return fmt.Errorf("%d Jobs of a suspended CronJob", len(jobs))
		}
		return nil
	})
	patch(t, namespace, "suspended", `{"spec":{"suspend":false}}`)
	taken(t, stack, namespace, "suspended")
	runs(t, record, "suspended", 1, harness.NextMinute)
	stack.Signal(t, workflowOf(namespace, "suspended"), protocol.SuspendSignal, protocol.SignalNote{By: "ada"})
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		cronJob := get(ctx, t, stack, namespace, "suspended")
		if cronJob.Spec.Suspend == nil || !*cronJob.Spec.Suspend || cronJob.Annotations[names.SuspendedByAnnotation] != "ada" {
			return fmt.Errorf("suspend %v, annotations %v", cronJob.Spec.Suspend, cronJob.Annotations)
		}
		return nil
	})
	taken(t, stack, namespace, "suspended")
	if next, ok := get(t.Context(), t, stack, namespace, "suspended").Annotations[names.NextScheduleTimeAnnotation]; ok {
		t.Errorf("a suspended CronJob has a next run, %s", next)
	}
}

// longerThanAMinute is how long a run takes that is still there when the next is due.
const longerThanAMinute = 80

func forbidsOverlap(t *testing.T, namespace string) {
	record := stack.Record(t, namespace)
	create(t, stack, namespace, "forbids", harness.Minutely, harness.JobSpec(harness.RunSeconds(longerThanAMinute)), policy(batchv1.ForbidConcurrent))
	runs(t, record, "forbids", 1, harness.NextMinute)
	harness.Eventually(t, harness.NextMinute, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "forbids", "JobAlreadyActive")
	})
	if jobs, active := record.Jobs("forbids"), get(t.Context(), t, stack, namespace, "forbids").Status.Active; len(jobs) != 1 || len(active) != 1 {
		t.Errorf("%d Jobs, active %v", len(jobs), active)
	}
	// When the run has ended, the blocked one starts late.
	runs(t, record, "forbids", 2, harness.NextMinute)
}

func replaces(t *testing.T, namespace string) {
	record := stack.Record(t, namespace)
	create(t, stack, namespace, "replaces", harness.Minutely, harness.JobSpec(harness.RunSeconds(longerThanAMinute)), policy(batchv1.ReplaceConcurrent))
	runs(t, record, "replaces", 2, twoMinutes)
	first := record.Jobs("replaces")[0]
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, first.Name, metav1.GetOptions{})
		if err == nil {
			return errors.New("the replaced Job exists")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	// The status is written after both.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		if active := get(ctx, t, stack, namespace, "replaces").Status.Active; len(active) != 1 || active[0].UID == first.UID {
			return fmt.Errorf("active %v", active)
		}
		return nil
	})
	everyMinute(t, record, "replaces")
}

// CronJobs of both kinds have one name, a workflow each, and Jobs each.
func besideOneOfOurs(t *testing.T, namespace string) {
	native := create(t, stack, namespace, "twin", harness.Yearly, harness.JobSpec())
	own := stack.AddCronJob(t, harness.NewCronJob(namespace, "twin", harness.Yearly, harness.JobSpec()))
	taken(t, stack, namespace, "twin")
	stack.Signal(t, workflowOf(namespace, "twin"), protocol.TriggerSignal, nil)
	stack.Signal(t, harness.CronJobWorkflow(namespace, "twin"), protocol.TriggerSignal, nil)
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		jobs, err := stack.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		completed := map[string]int{}
		for _, job := range jobs {
			if owner := metav1.GetControllerOf(&job); owner != nil && owner.Name == "twin" && harness.HasCondition(&job, batchv1.JobComplete) {
				completed[string(owner.UID)]++
			}
		}
		if completed[string(native.UID)] != 1 || completed[string(own.UID)] != 1 {
			return fmt.Errorf("runs that are complete, by the CronJob's UID: %v", completed)
		}
		return nil
	})
	if err := stack.CronJobs.CronJobs(namespace).Delete(t.Context(), "twin", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return workflowIs(ctx, stack, harness.CronJobWorkflow(namespace, "twin"), enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	})
	if err := workflowIs(t.Context(), stack, workflowOf(namespace, "twin"), enums.WORKFLOW_EXECUTION_STATUS_RUNNING); err != nil {
		t.Error(err)
	}
}

// Its Jobs go with it, by the garbage collector, and its workflow ends.
func isDeleted(t *testing.T, namespace string) {
	create(t, stack, namespace, "deleted", harness.Yearly, harness.JobSpec(harness.RunSeconds(longerThanAMinute)))
	taken(t, stack, namespace, "deleted")
	record := stack.Record(t, namespace)
	stack.Signal(t, workflowOf(namespace, "deleted"), protocol.TriggerSignal, nil)
	harness.Eventually(t, harness.Prompt, func(context.Context) error {
		if len(record.Jobs("deleted")) == 0 {
			return errors.New("the trigger made no Job")
		}
		return nil
	})
	if _, err := stack.Stack.Kubectl(t.Context(), "delete", "cronjobs.v1.batch", "deleted", "--namespace="+namespace); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return workflowIs(ctx, stack, workflowOf(namespace, "deleted"), enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	})
	harness.Eventually(t, harness.Collected, func(ctx context.Context) error {
		_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, record.Jobs("deleted")[0].Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the Job of the deleted CronJob exists"), err)
	})
}

// The CronJob says that it has not started the Job, which counts for the history limits
// all the same.
func hasAJobMadeByHand(t *testing.T, namespace string) {
	create(t, stack, namespace, "by-hand", harness.Yearly, harness.JobSpec(harness.RunSeconds(halfAMinute)), func(cronJob *batchv1.CronJob) {
		cronJob.Spec.SuccessfulJobsHistoryLimit = new(int32(0))
	})
	taken(t, stack, namespace, "by-hand")
	if _, err := stack.Stack.Kubectl(t.Context(), "create", "job", "made-by-hand", "--from=cronjob.v1.batch/by-hand", "--namespace="+namespace); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "by-hand", "UnexpectedJob")
	})
	harness.Eventually(t, harness.NextMinute+harness.Recovery, func(ctx context.Context) error {
		_, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, "made-by-hand", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the Job exists beyond the history limit"), err)
	})
	// The status with the end may come after the delete.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		status := get(ctx, t, stack, namespace, "by-hand").Status
		if status.LastSuccessfulTime == nil || status.LastScheduleTime != nil || len(status.Active) > 0 {
			return fmt.Errorf("status %+v", status)
		}
		return nil
	})
}

// Where Jobs are taken over too, a run's workflow is a child of its CronJob's.
func TestAWholeLifeWhereJobsAreTakenOverToo(t *testing.T) {
	t.Parallel()
	both, _ := another(t, manifests.TakeOverAll, withoutJobs)
	namespace := both.Namespace(t)
	record := both.Record(t, namespace)
	create(t, both, namespace, "hello", harness.Minutely, harness.JobSpec())
	runs(t, record, "hello", 2, twoMinutes)
	everyMinute(t, record, "hello")
	harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
		if status := get(ctx, t, both, namespace, "hello").Status; status.LastSuccessfulTime == nil || len(status.Active) > 0 {
			return fmt.Errorf("status %+v", status)
		}
		return nil
	})
	for _, job := range record.Jobs("hello")[:2] {
		var description *workflowservice.DescribeWorkflowExecutionResponse
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) (err error) {
			description, err = both.Temporal.DescribeWorkflowExecution(ctx, harness.JobWorkflow(namespace, job.Name), "")
			return err
		})
		if parent := description.GetWorkflowExecutionInfo().GetParentExecution().GetWorkflowId(); parent != workflowOf(namespace, "hello") || job.Spec.ManagedBy != nil {
			t.Errorf("Job %s: the parent of its workflow is %q, managed by %v", job.Name, parent, job.Spec.ManagedBy)
		}
	}
	nothingForbidden(t, both, namespace)
}
