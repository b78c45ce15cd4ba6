package bridge

import (
	"context"
	"errors"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
)

// keepPodWatches starts the PodWatch workflows that don't run. Workers start them too,
// when they start themselves; afterwards nobody else would notice that one has ended.
func (c *controller) keepPodWatches(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for shard := range c.watchShards {
		running, err := c.temporal.Start(ctx, c.messages.podWatchStart(shard, c.watchShards))
		if err != nil {
			return err
		}
		c.metrics.sent("podwatch-start", foundLabel(running))
		if !running {
			c.logger.Warn("no workflow watched Pods, started one", "shard", shard, "shards", c.watchShards)
		}
	}
	return nil
}

// podWatchScanPeriod is how long a PodWatch of another number of shards, which anybody
// who may write to Temporal can start, goes unnoticed.
const podWatchScanPeriod = 30 * time.Second

// endPodWatches ends PodWatch workflows of this cluster that were started for another
// number of shards: each would go on to hold a watch, and to send what others send too.
func (c *controller) endPodWatches(ctx context.Context) error {
	// First those that are to stay, so that no Pod is unwatched.
	if err := c.keepPodWatches(ctx); err != nil {
		return err
	}
	var old []string
	err := c.temporal.Running(ctx, protocol.PodWatchWorkflow, func(workflowID string) {
		if _, shards, ok := c.messages.cluster.ParsePodWatchWorkflowID(workflowID); ok && shards != c.watchShards {
			old = append(old, workflowID)
		}
	})
	for _, workflowID := range old {
		ended := c.temporal.End(ctx, workflowID, "it is of another number of shards than --watch-shards")
		if ended == nil {
			c.metrics.sent("podwatch-terminate", foundLabel(true))
			c.logger.Info("ended a PodWatch of another number of shards", "workflow", workflowID, "shards", c.watchShards)
		}
		err = errors.Join(err, ended)
	}
	return err
}
