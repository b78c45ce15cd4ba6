package failure

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// attendRound is the time between two rounds of the bridge over the Jobs under way, and
// of a worker over the watch shards.
const attendRound = 30 * time.Second

// attendance is within what time a Job goes on whose workflow has ended: a round starts
// it anew, and PodWatch, which has backed off from the workflow that was not there,
// tells it what has happened.
const attendance = attendRound + harness.Recovery

// Somebody cancels and terminates workflows in Temporal. Their Jobs exist, and so they
// go on: each finishes once.
func TestWorkflowsEndedByHand(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	run := startRunIn(t, namespace, record, "steady", 10)
	for _, name := range []string{"cancelled", "terminated"} {
		stack.CreateJob(t, namespace, name, harness.JobSpec(harness.RunSeconds(10)))
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.PodsAre(ctx, namespace, name, corev1.PodRunning, 1) })
	}

	terminate(t, names.Cluster("").PodWatchWorkflowID(0, 1))
	terminate(t, harness.JobWorkflow(namespace, run.job))
	terminate(t, harness.JobWorkflow(namespace, "terminated"))
	if err := stack.Temporal.CancelWorkflow(t.Context(), harness.JobWorkflow(namespace, "cancelled"), ""); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return hasStatus(ctx, harness.JobWorkflow(namespace, "cancelled"), enums.WORKFLOW_EXECUTION_STATUS_CANCELED)
	})

	for _, name := range []string{"cancelled", "terminated"} {
		finishesOnce(t, record, namespace, name, attendance)
		harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
			return stack.HasEvent(ctx, namespace, "Job", name, "WorkflowRestarted")
		})
	}
	run.finishesOnce(t, attendance)
}

// The number of watch shards was changed: a worker refuses the watch of a shard of the
// number before, which ends its workflow, and the others go on.
func TestWatchShardsOfAnotherNumber(t *testing.T) {
	const shards = 4
	old := names.Cluster("").PodWatchWorkflowID(3, shards)
	_, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: old, TaskQueue: names.Cluster("").ControlTaskQueue(),
	}, protocol.PodWatchWorkflow, protocol.PodWatchInput{Shard: 3, Shards: shards})
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return hasStatus(ctx, old, enums.WORKFLOW_EXECUTION_STATUS_FAILED)
	})
	if err := hasStatus(t.Context(), names.Cluster("").PodWatchWorkflowID(0, 1), enums.WORKFLOW_EXECUTION_STATUS_RUNNING); err != nil {
		t.Error(err)
	}
}

func terminate(t *testing.T, workflowID string) {
	t.Helper()
	if err := stack.Temporal.TerminateWorkflow(t.Context(), workflowID, "", "by hand"); err != nil {
		t.Fatal(err)
	}
}

func hasStatus(ctx context.Context, workflowID string, want enums.WorkflowExecutionStatus) error {
	status, err := stack.WorkflowStatus(ctx, workflowID)
	if err == nil && status != want {
		err = fmt.Errorf("workflow %s is %s, not %s", workflowID, status, want)
	}
	return err
}
