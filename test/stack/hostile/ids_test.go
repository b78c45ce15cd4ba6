package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

const (
	// takenBack is within what time an ID that another workflow has is Ostinato's again.
	takenBack = 60*time.Second + harness.Slack
	// startedAnew is the same for a CronJob's workflow that was terminated.
	startedAnew = 30*time.Second + harness.Slack
	// looked is when a round of the bridge, every 20 s, has looked at every workflow.
	looked = 20*time.Second + harness.Slack
)

// TestWorkflowIDsAreNobodyElsesForLong: one call takes an ID from Ostinato, and that is mended without a person. The test is
// none of those that run beside others, since it takes the watch of Pods from them all.
func TestWorkflowIDsAreNobodyElsesForLong(t *testing.T) {
	namespace := stack.Namespace(t)
	cronJobs := []string{"taken", "terminated", "cancelled", "scheduled", "delayed"}
	for _, name := range cronJobs {
		stack.AddCronJob(t, harness.NewCronJob(namespace, name, harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	}
	ours := victim(t, namespace, "ours", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	other := victim(t, namespace, "delayed", harness.Indexed(1), harness.HoldIndex(0), harness.RunSeconds(1))
	// All are attacked at a time.
	t.Run("", func(t *testing.T) {
		cluster := names.Cluster("")
		never := func(options *client.StartWorkflowOptions) { options.CronSchedule = harness.Yearly }
		late := func(options *client.StartWorkflowOptions) { options.StartDelay = 24 * time.Hour }
		for what, test := range map[string]struct {
			id, kind, queue, by string
			how                 func(options *client.StartWorkflowOptions)
		}{
			"a CronJob's is taken":                      {harness.CronJobWorkflow(namespace, "taken"), "CronJob", "nobody", "Nobody", nil},
			"a Job's is taken":                          {harness.JobWorkflow(namespace, ours.Name), "Job", "nobody", "Nobody", nil},
			"PodWatch's is taken":                       {"podwatch/0-of-1", "PodWatch", "nobody", "Nobody", nil},
			"a CronJob's is taken by one for next year": {harness.CronJobWorkflow(namespace, "scheduled"), "CronJob", cluster.ControlTaskQueue(), "CronJob", never},
			"a CronJob's is taken by one for tomorrow":  {harness.CronJobWorkflow(namespace, "delayed"), "CronJob", cluster.ControlTaskQueue(), "CronJob", late},
			"a Job's is taken by one for tomorrow":      {harness.JobWorkflow(namespace, other.Name), "Job", cluster.JobTaskQueue(), "Job", late},
		} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				options := client.StartWorkflowOptions{
					ID: test.id, TaskQueue: test.queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
				}
				if test.how != nil {
					test.how(&options)
				}
				taken, err := stack.Temporal.ExecuteWorkflow(t.Context(), options, test.by, json.RawMessage(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				since := time.Now()
				harness.Eventually(t, takenBack, func(ctx context.Context) error { return runsAs(ctx, test.id, test.kind, taken.GetRunID()) })
				t.Logf("taken back after %s", time.Since(since).Round(time.Second))
			})
		}
		t.Run("a CronJob's is terminated", func(t *testing.T) {
			t.Parallel()
			id := harness.CronJobWorkflow(namespace, "terminated")
			before := newestRun(t, id)
			if err := stack.Temporal.TerminateWorkflow(t.Context(), id, "", "by an attacker"); err != nil {
				t.Fatal(err)
			}
			since := time.Now()
			harness.Eventually(t, startedAnew, func(ctx context.Context) error { return runsAs(ctx, id, "CronJob", before) })
			t.Logf("started anew after %s", time.Since(since).Round(time.Second))
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				return stack.HasEvent(ctx, namespace, "CronJob", "terminated", "WorkflowRestarted")
			})
		})
		t.Run("a CronJob's is cancelled", func(t *testing.T) {
			t.Parallel()
			id := harness.CronJobWorkflow(namespace, "cancelled")
			before, since := newestRun(t, id), time.Now()
			if err := stack.Temporal.CancelWorkflow(t.Context(), id, ""); err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return runsAs(ctx, id, "CronJob", before) })
			t.Logf("went on after %s", time.Since(since).Round(time.Millisecond))
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				return stack.HasEvent(ctx, namespace, "CronJob", "cancelled", "WorkflowCancelled")
			})
		})
	})
	// And they work.
	for _, name := range cronJobs {
		run := stack.Trigger(t, namespace, name)
		harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
	}
	for _, job := range []*batchv1.Job{ours, other} {
		stack.LetGo(t, namespace, job.Name, 0)
		harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, job.Name, batchv1.JobComplete) })
	}
}

// newestRun is the ID of the newest run under a workflow ID.
func newestRun(t *testing.T, id string) string {
	t.Helper()
	description, err := stack.Temporal.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	return description.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

// begun is within what time of its start a workflow that is due at once begins, by Temporal's own times.
const begun = time.Second

// runsAs returns nil when a workflow of the type runs under an ID, in another run than before, and has begun.
func runsAs(ctx context.Context, id, kind, before string) error {
	description, err := stack.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	info := description.GetWorkflowExecutionInfo()
	if found := info.GetType().GetName(); found != kind || info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetExecution().GetRunId() == before {
		return fmt.Errorf("%s is a %s, %s", id, found, info.GetStatus())
	}
	if wait := info.GetExecutionTime().AsTime().Sub(info.GetStartTime().AsTime()); wait > begun {
		return fmt.Errorf("%s is to begin in %s", id, wait)
	}
	return nil
}

// TestAPausedWorkflowIsLeftAndSaid: a person may have paused it.
func TestAPausedWorkflowIsLeftAndSaid(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "paused", harness.Yearly, harness.JobSpec(harness.RunSeconds(1))))
	id := harness.CronJobWorkflow(namespace, "paused")
	service := stack.Temporal.WorkflowService()
	if _, err := service.PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: id, Identity: "ada", Reason: "looking", RequestId: t.Name(),
	}); err != nil {
		t.Fatal(err)
	}
	condition := func(want metav1.ConditionStatus) func(context.Context) error {
		return func(ctx context.Context) error {
			cronJob, err := stack.CronJob(ctx, namespace, "paused")
			if err != nil {
				return err
			}
			conditions := cronJob.Status.Conditions
			paused, ready := meta.FindStatusCondition(conditions, "WorkflowPaused"), meta.FindStatusCondition(conditions, "Ready")
			if paused == nil || ready == nil || paused.Status != want || (ready.Reason == "WorkflowPaused") != (want == metav1.ConditionTrue) ||
				ready.Status == want {
				return fmt.Errorf("conditions %v, want WorkflowPaused %s, and Ready not", conditions, want)
			}
			return nil
		}
	}
	harness.Eventually(t, looked, condition(metav1.ConditionTrue))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.HasEvent(ctx, namespace, "CronJob", "paused", "WorkflowPaused")
	})
	status, err := stack.WorkflowStatus(t.Context(), id)
	if err == nil && status != enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED {
		err = fmt.Errorf("the workflow is %s", status)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = service.UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: id, Identity: "ada", Reason: "seen", RequestId: t.Name(),
	})
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, looked, condition(metav1.ConditionFalse))
	run := stack.Trigger(t, namespace, "paused")
	harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, run, batchv1.JobComplete) })
}
