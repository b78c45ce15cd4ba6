package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

func TestPodWatchGoesOnForEver(t *testing.T) {
	input := protocol.PodWatchInput{Shard: 1, Shards: 4}
	tests := []struct {
		name string
		ends []error
	}{
		{"when the activity returns", []error{nil}},
		{"when the activity fails and is retried", []error{errors.New("watch closed"), errors.New("watch closed"), nil}},
		{"when the activity fails for good", []error{temporal.NewNonRetryableApplicationError("forbidden", "Forbidden", nil)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			environment := newEnvironment(t, "east", protocol.PodWatchWorkflow, "east/podwatch/1-of-4")
			calls := 0
			watch := func(ctx context.Context, got protocol.PodWatchInput) error {
				info := activity.GetInfo(ctx)
				expect(t, "input", got, input)
				expect(t, "task queue", info.TaskQueue, "east/ostinato-watch")
				expect(t, "heartbeat timeout", info.HeartbeatTimeout, 10*time.Second)
				if year := 365 * 24 * time.Hour; info.StartToCloseTimeout < year {
					t.Errorf("a watch lasts %v at most", info.StartToCloseTimeout)
				}
				calls++
				return test.ends[calls-1]
			}
			environment.RegisterActivityWithOptions(watch, activity.RegisterOptions{Name: protocol.WatchPodsActivity})
			environment.ExecuteWorkflow(protocol.PodWatchWorkflow, input)
			expect(t, "calls", calls, len(test.ends))

			var next *workflow.ContinueAsNewError
			if err := environment.GetWorkflowError(); !errors.As(err, &next) {
				t.Fatalf("the workflow ended with %v, want continue-as-new", err)
			}
			var again protocol.PodWatchInput
			if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &again); err != nil {
				t.Fatal(err)
			}
			expect(t, "next input", again, input)
		})
	}
}

// After a change of --watch-shards the workers refuse the shards of the number before.
func TestAPodWatchOfShardsThatNobodyWatchesEnds(t *testing.T) {
	environment := newEnvironment(t, "", protocol.PodWatchWorkflow, "podwatch/3-of-4")
	watch := func(context.Context, protocol.PodWatchInput) error {
		return temporal.NewNonRetryableApplicationError("this worker watches in 1 shards", protocol.InvalidRequestErrorType, nil)
	}
	environment.RegisterActivityWithOptions(watch, activity.RegisterOptions{Name: protocol.WatchPodsActivity})
	environment.ExecuteWorkflow(protocol.PodWatchWorkflow, protocol.PodWatchInput{Shard: 3, Shards: 4})
	var failed *temporal.ApplicationError
	if err := environment.GetWorkflowError(); !errors.As(err, &failed) || failed.Type() != protocol.InvalidRequestErrorType {
		t.Errorf("the workflow ended with %v, want the refusal", err)
	}
}

func TestCancelledPodWatchEnds(t *testing.T) {
	environment := newEnvironment(t, "", protocol.PodWatchWorkflow, "podwatch/0-of-1")
	watch := func(context.Context, protocol.PodWatchInput) error { environment.CancelWorkflow(); return nil }
	environment.RegisterActivityWithOptions(watch, activity.RegisterOptions{Name: protocol.WatchPodsActivity})
	environment.ExecuteWorkflow(protocol.PodWatchWorkflow, protocol.PodWatchInput{Shards: 1})
	if err := environment.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ended with %v, want a cancellation", err)
	}
}
