package temporalserver

import (
	"math"

	"go.temporal.io/server/common/dynamicconfig"
)

// unlimited is a rate that one machine does not reach. Rate limiters multiply it, so it stays well below overflow.
const unlimited = math.MaxInt32 / 16

// assignment gives settings a value.
type assignment struct {
	value    any
	settings []dynamicconfig.GenericSetting
}

// assignments differ from the server's defaults in few ways only: rates that protect a shared cluster are lifted, work
// that has no use here is not done, tasks that wait are dispatched fairly, and workflows can be paused. Limits on a
// single workflow (its history, signals, children, payloads) are left as they are anywhere else, so that what exceeds
// them fails here first.
var assignments = []assignment{
	{unlimited, []dynamicconfig.GenericSetting{
		dynamicconfig.FrontendRPS,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance,
		dynamicconfig.FrontendGlobalWorkerDeploymentReadRPS,
		dynamicconfig.FrontendPersistenceMaxQPS,
		dynamicconfig.HistoryRPS,
		dynamicconfig.HistoryPersistenceMaxQPS,
		dynamicconfig.MatchingRPS,
		dynamicconfig.MatchingPersistenceMaxQPS,
		dynamicconfig.WorkerPersistenceMaxQPS,
		dynamicconfig.VisibilityPersistenceMaxReadQPS,
		dynamicconfig.VisibilityPersistenceMaxWriteQPS,
		// A shard's queues look for new tasks at most this often a second: at the default of 20 a task can wait 50 ms.
		dynamicconfig.TransferProcessorMaxPollRPS,
		dynamicconfig.TimerProcessorMaxPollRPS,
	}},
	// One host serves every partition of a task queue: more than one would only forward to one another.
	{1, []dynamicconfig.GenericSetting{
		dynamicconfig.MatchingNumTaskqueueReadPartitions,
		dynamicconfig.MatchingNumTaskqueueWritePartitions,
	}},
	// Backlogs are shared by fairness keys, which are Kubernetes namespaces. Priorities are on by default.
	{true, []dynamicconfig.GenericSetting{dynamicconfig.MatchingEnableFairness}},
	// Workflows can be paused, which is off by default: people do it where it is on.
	{true, []dynamicconfig.GenericSetting{dynamicconfig.WorkflowPauseEnabled}},
	// 128,000 cached workflows by default, more than the memory that one process is given.
	{16384, []dynamicconfig.GenericSetting{dynamicconfig.HistoryCacheHostLevelMaxSize}},
	{false, []dynamicconfig.GenericSetting{
		// Asks Temporal's servers for news of a new version.
		dynamicconfig.EnableServerVersionCheck,
		// Each history write is searched for references to payloads kept elsewhere: 3 % of the processor time.
		dynamicconfig.ExternalPayloadsEnabled,
		// Statistics for the health checks of a cluster of many hosts.
		dynamicconfig.PersistenceHealthSignalMetricsEnabled,
		dynamicconfig.PersistenceHealthSignalAggregationEnabled,
		dynamicconfig.HistoryHealthSignalMetricsEnabled,
		// System workflows that scan the database for leftovers of lost hosts.
		dynamicconfig.TaskQueueScannerEnabled,
		dynamicconfig.HistoryScannerEnabled,
	}},
}

// dynamicConfig is the server's dynamic configuration. Overrides are by Temporal's own keys and win.
func dynamicConfig(overrides map[string]any) dynamicconfig.StaticClient {
	client := dynamicconfig.StaticClient{}
	for _, a := range assignments {
		for _, setting := range a.settings {
			client[setting.Key()] = a.value
		}
	}
	for key, value := range overrides {
		client[dynamicconfig.MakeKey(key)] = value
	}
	return client
}
