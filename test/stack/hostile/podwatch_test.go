package hostile

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// manyWatches is how many watches of one shard an attacker asks for.
const manyWatches = 40

// TestNobodyElseWatchesPods: neither a workflow of another ID or type, nor one of other shards. One that has the ID, the
// type and the right shard gets what the genuine one gets, one watch of a worker's, until it is replaced. The test is none
// of those that run beside others, since it takes the watch of Pods from them all.
func TestNobodyElseWatchesPods(t *testing.T) {
	attacker := newAttacker(t)
	namespace := stack.Namespace(t)
	t.Run("under another ID", func(t *testing.T) {
		for name, input := range map[string]protocol.PodWatchInput{
			"the shard that there is": {Shard: 0, Shards: 1},
			"a shard of others":       {Shard: 1, Shards: 2},
			"no shard":                {Shard: 7, Shards: 2},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				attacker.both(t, protocol.WatchPodsActivity, input, wantInvalid)
			})
		}
		t.Run("a workflow of other shards", func(t *testing.T) {
			t.Parallel()
			cluster := names.Cluster("")
			id := cluster.PodWatchWorkflowID(1, 2)
			_, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: cluster.ControlTaskQueue()},
				protocol.PodWatchWorkflow, protocol.PodWatchInput{Shard: 1, Shards: 2})
			if err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
				status, err := stack.WorkflowStatus(ctx, id)
				if err != nil {
					return err
				}
				if status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
					return fmt.Errorf("workflow %s is %s", id, status)
				}
				return nil
			})
		})
	})
	harness.Eventually(t, harness.Prompt, genuineWatch)

	for _, test := range []struct {
		kind, refused string
		watching      int
	}{
		{"Watches", protocol.InvalidRequestErrorType, 0},
		{protocol.PodWatchWorkflow, activities.AlreadyWatchedErrorType, 1},
	} {
		t.Run("under the shard's own ID, by a workflow that calls itself "+test.kind, func(t *testing.T) {
			seen := watchManyTimes(t, test.kind)
			if seen.refused == "" {
				// A round of the worker's has replaced it before it had its answers. The next is far.
				seen = watchManyTimes(t, test.kind)
			}
			// The one worker that there is has a place for its shard, and one more.
			if seen.watching > test.watching || seen.started > 2 || seen.refused != test.refused {
				t.Errorf("want %d at most to go on, 2 to have started, and the others refused as %s", test.watching, test.refused)
			}
			since := time.Now()
			harness.Eventually(t, takenBack, genuineWatch)
			t.Logf("the genuine watch has begun %s after the attack", time.Since(since).Round(100*time.Millisecond))
		})
	}

	stack.CreateJob(t, namespace, "after", harness.JobSpec(harness.RunSeconds(1)))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, "after", batchv1.JobComplete) })
}

// watchesSeen is the most of an attacker's watches that went on at a time, the most that were a worker's, if only to be
// refused, and the type of a refusal.
type watchesSeen struct {
	watching, started int
	refused           string
}

// watchManyTimes runs, under the ID of PodWatch, a workflow of the attacker's that asks for its watch many times, until it
// has ended.
func watchManyTimes(t *testing.T, kind string) (seen watchesSeen) {
	t.Helper()
	queue := "attacker-" + kind
	own := worker.New(stack.Temporal, queue, worker.Options{DisableRegistrationAliasing: true})
	own.RegisterWorkflowWithOptions(manyWatchesWorkflow, workflow.RegisterOptions{Name: kind})
	if err := own.Start(); err != nil {
		t.Fatalf("start the attacker's worker: %v", err)
	}
	defer own.Stop()
	shard := protocol.PodWatchInput{Shard: 0, Shards: 1}
	id := names.Cluster("").PodWatchWorkflowID(shard.Shard, shard.Shards)
	run, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: queue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, kind, shard)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, takenBack, func(ctx context.Context) error {
		description, err := stack.Temporal.DescribeWorkflowExecution(ctx, id, run.GetRunID())
		if err != nil {
			return err
		}
		watching, started := watchesOf(description, &seen.refused)
		seen.watching, seen.started = max(seen.watching, watching), max(seen.started, started)
		if status := description.GetWorkflowExecutionInfo().GetStatus(); status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return fmt.Errorf("the attacker's workflow is %s", status)
		}
		return nil
	})
	var refusals []string
	if err := run.Get(t.Context(), &refusals); err == nil && len(refusals) > 0 {
		seen.refused = refusals[0]
	}
	t.Logf("%s: of %d watches at most %d went on, %d had started; refused as %s", kind, manyWatches, seen.watching, seen.started, seen.refused)
	return seen
}

// manyWatchesWorkflow asks for all watches at once, as often as may be, and returns the types of the final errors.
func manyWatchesWorkflow(ctx workflow.Context, shard protocol.PodWatchInput) (types []string, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: names.Cluster("").WatchTaskQueue(), StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Hour,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond, BackoffCoefficient: 1},
	})
	var asked []workflow.Future
	for range manyWatches {
		asked = append(asked, workflow.ExecuteActivity(ctx, protocol.WatchPodsActivity, shard))
	}
	for _, one := range asked {
		types = append(types, answered(nil, one.Get(ctx, nil)).Type)
	}
	return types, nil
}

// watchesOf counts the watches of a workflow that go on, which is what heartbeats, and those that have started. It keeps
// the type of the last error of one that has not.
func watchesOf(description *workflowservice.DescribeWorkflowExecutionResponse, refused *string) (watching, started int) {
	for _, pending := range description.GetPendingActivities() {
		if kind := pending.GetLastFailure().GetApplicationFailureInfo().GetType(); kind != "" {
			*refused = kind
		}
		if pending.GetState() != enums.PENDING_ACTIVITY_STATE_STARTED {
			continue
		}
		started++
		if pending.GetHeartbeatDetails() != nil {
			watching++
		}
	}
	return watching, started
}

// genuineWatch returns nil when the shard's own workflow has its watch.
func genuineWatch(ctx context.Context) error {
	cluster := names.Cluster("")
	description, err := stack.Temporal.DescribeWorkflowExecution(ctx, cluster.PodWatchWorkflowID(0, 1), "")
	if err != nil {
		return err
	}
	info := description.GetWorkflowExecutionInfo()
	var refused string
	watching, started := watchesOf(description, &refused)
	if info.GetTaskQueue() != cluster.ControlTaskQueue() || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || watching != 1 {
		return fmt.Errorf("PodWatch on task queue %s is %s, %d of its watches go on, %d have started, refused as %q",
			info.GetTaskQueue(), info.GetStatus(), watching, started, refused)
	}
	return nil
}
