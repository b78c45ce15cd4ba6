package bridge

import (
	"slices"

	"go.temporal.io/api/workflow/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// ours reports whether a workflow is of a type and on a task queue of Ostinato's. Anybody
// who may write to Temporal may run one under any ID, on a queue that he serves himself: what
// it says of itself is not asked for.
func ours(execution *workflow.WorkflowExecutionInfo, cluster names.Cluster) bool {
	return slices.Contains(protocol.Workflows, execution.GetType().GetName()) &&
		slices.Contains([]string{cluster.ControlTaskQueue(), cluster.JobTaskQueue()}, execution.GetTaskQueue())
}

// nameable reports whether an object can have the namespace and name that a workflow ID holds.
func nameable(name types.NamespacedName) bool {
	return protocol.ObjectReference{Namespace: name.Namespace, Name: name.Name, UID: "any"}.Validate() == nil
}
