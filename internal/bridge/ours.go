package bridge

import (
	"go.temporal.io/api/workflow/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// taskQueue returns the queue of the workflows of a type; empty where Ostinato has none.
func taskQueue(cluster names.Cluster, workflowType string) string {
	switch workflowType {
	case protocol.JobWorkflow:
		return cluster.JobTaskQueue()
	case protocol.CronJobWorkflow, protocol.PodWatchWorkflow:
		return cluster.ControlTaskQueue()
	}
	return ""
}

// ours reports whether a workflow is of a type of Ostinato's, on the task queue of that
// type. Anybody who may write to Temporal may run one under any ID, on a queue that he
// serves himself: what it says of itself is not asked for.
func ours(execution *workflow.WorkflowExecutionInfo, cluster names.Cluster) bool {
	queue := taskQueue(cluster, execution.GetType().GetName())
	return queue != "" && execution.GetTaskQueue() == queue
}

// nameable reports whether an object can have the namespace and name that a workflow ID holds.
func nameable(name types.NamespacedName) bool {
	return protocol.ObjectReference{Namespace: name.Namespace, Name: name.Name, UID: "any"}.Validate() == nil
}
