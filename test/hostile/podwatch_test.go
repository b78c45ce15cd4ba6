package hostile

import (
	"context"
	"fmt"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/harness"
)

// TestNobodyElseWatchesPods: neither another workflow, nor one of other shards.
func TestNobodyElseWatchesPods(t *testing.T) {
	t.Parallel()
	attacker := newAttacker(t)
	for name, input := range map[string]protocol.PodWatchInput{
		"the shard that there is": {Shard: 0, Shards: 1},
		"a shard of others":       {Shard: 1, Shards: 2},
		"no shard":                {Shard: 7, Shards: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attacker.both(t, protocol.WatchPodsActivity, input, func(t *testing.T, given answer) {
				if given.Type != activities.RefusedErrorType && given.Type != protocol.InvalidRequestErrorType {
					t.Errorf("answer %s, error %s %q", given.Result, given.Type, given.Error)
				}
			})
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
	t.Cleanup(func() {
		// The one watch goes on.
		status, err := stack.WorkflowStatus(context.Background(), names.Cluster("").PodWatchWorkflowID(0, 1))
		if err != nil || status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			t.Errorf("PodWatch is %s, error %v", status, err)
		}
	})
}
