package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// watchHeartbeatTimeout is how long a lost worker goes unnoticed.
	watchHeartbeatTimeout = 10 * time.Second
	// watchTimeout is as good as none (Temporal demands one): each end of a watch costs its successor a list of all Pods.
	watchTimeout = 10 * 365 * 24 * time.Hour
	// watchPause keeps an error that Temporal does not retry from becoming a hot loop.
	watchPause = 10 * time.Second
)

// podWatch keeps the WatchPods activity of one shard running on whatever worker is there: the heartbeat timeout
// is the failover. Nothing is kept between two activities: Pods not accounted for carry a finalizer.
func (o *Options) podWatch(ctx workflow.Context, input protocol.PodWatchInput) error {
	if err := valid(ctx, o.Cluster.PodWatchWorkflowID(input.Shard, input.Shards), input); err != nil {
		return err
	}
	watch := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           o.Cluster.WatchTaskQueue(),
		StartToCloseTimeout: watchTimeout,
		HeartbeatTimeout:    watchHeartbeatTimeout,
		Priority:            priority(ctx, order.Due),
		Summary:             fmt.Sprintf("watch pods, shard %d of %d", input.Shard, input.Shards),
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
	})
	err := workflow.ExecuteActivity(watch, protocol.WatchPodsActivity, input).Get(ctx, nil)
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if refused := ok && application.Type() == protocol.InvalidRequestErrorType; refused || temporal.IsCanceledError(err) {
		// A refused shard is of another cluster or number of shards.
		return err
	}
	if err != nil {
		workflow.GetLogger(ctx).Error("Watching Pods ended with an error; it starts again", "error", err)
		if err := workflow.Sleep(ctx, watchPause); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, protocol.PodWatchWorkflow, input)
}
