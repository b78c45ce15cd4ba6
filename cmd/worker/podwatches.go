package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/util/wait"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	podWatchPeriod = 30 * time.Second // how long a PodWatch workflow that has ended goes unnoticed
	podWatchJitter = 0.1              // keeps workers that were started together apart
)

// keepPodWatches starts PodWatch workflows that have ended until the context is done: a person has ended one by hand or
// runs another workflow under its ID, or a worker of another number of shards has refused it, as happens while workers
// are replaced to change that number.
func keepPodWatches(ctx context.Context, temporal client.Client, settings config.Worker, logger *slog.Logger) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := startPodWatches(ctx, temporal, settings, logger); err != nil && ctx.Err() == nil {
			logger.Warn("can't make sure that Pods are watched, will try again", "error", err)
		}
	}, podWatchPeriod, podWatchJitter, true)
}

// startPodWatches starts the PodWatch workflow of every shard that has none, in place of what
// else runs under its ID. If a person has paused or pinned it, it is left to that person.
func startPodWatches(ctx context.Context, temporal client.Client, settings config.Worker, logger *slog.Logger) error {
	var problems []error
	for shard := range settings.WatchShards {
		wanted := holder.Wanted{
			ID: settings.Cluster.PodWatchWorkflowID(shard, settings.WatchShards), Type: protocol.PodWatchWorkflow, TaskQueue: settings.Cluster.ControlTaskQueue(),
		}
		found, _, err := holder.Look(ctx, temporal, wanted)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("look for PodWatch shard %d of %d: %w", shard, settings.WatchShards, err))
			continue
		case found == holder.Ours:
			continue
		case found == holder.Paused:
			logger.Warn("no worker watches Pods: the workflow is paused in Temporal, or pinned to a build; unpause or unpin it there", "workflow", wanted.ID)
			continue
		case found == holder.Foreign:
			logger.Warn("a foreign workflow runs under the ID of PodWatch, replacing it", "workflow", wanted.ID)
		}
		_, err = temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID:                       wanted.ID,
			TaskQueue:                wanted.TaskQueue,
			WorkflowIDConflictPolicy: found.ConflictPolicy(enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING),
			Priority:                 settings.Weights.Priority(order.Place{Work: order.Due}),
			StaticSummary:            fmt.Sprintf("watches Pods, shard %d of %d", shard, settings.WatchShards),
		}, wanted.Type, protocol.PodWatchInput{Shard: shard, Shards: settings.WatchShards})
		if err != nil {
			problems = append(problems, fmt.Errorf("start PodWatch shard %d of %d: %w", shard, settings.WatchShards, err))
		}
	}
	return errors.Join(problems...)
}
