package main

import (
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/workflows"
)

// countFromZero makes the counter of each outcome exist before the first has happened:
// Prometheus does not see that a series which was not there before has increased, so an
// alert would miss the first run that was missed. The tags are those that the SDK gives
// to a workflow's metrics.
func countFromZero(metrics client.MetricsHandler, temporalNamespace string, cluster names.Cluster) {
	if metrics == nil {
		return
	}
	for _, outcome := range schedule.Outcomes {
		metrics.WithTags(map[string]string{
			"namespace":     temporalNamespace,
			"client_name":   "temporal_go",
			"worker_type":   "none",
			"workflow_type": protocol.CronJobWorkflow,
			"activity_type": "none",
			"task_queue":    cluster.ControlTaskQueue(),
			"outcome":       string(outcome),
		}).Counter(workflows.ScheduledTimesMetric).Inc(0)
	}
}
