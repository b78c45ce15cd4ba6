package access

import (
	"go.temporal.io/server/common/api"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// right is what a person needs for a call.
type right int

const (
	// administration is for administrators alone. A method that has no row needs it.
	administration right = iota
	// nothing is needed, not even a credential.
	nothing
	// identity is to be known; the answer says nothing about an object.
	identity
	// reading is to read the object of the workflow that the request names.
	reading
	// listing is to list all objects of all namespaces.
	listing
	// messaging is to do to the object what the signal or update of the request asks for.
	messaging
)

// rule says who may call a method.
type rule struct {
	people         right
	worker, bridge bool
}

// rules are those of the methods that anyone but an administrator may call.
var rules = func() map[string]rule {
	all := map[string]rule{
		healthpb.Health_Check_FullMethodName:               {people: nothing, worker: true, bridge: true},
		api.WorkflowServicePrefix + "GetSystemInfo":        {people: nothing, worker: true, bridge: true},
		api.OperatorServicePrefix + "ListSearchAttributes": {people: identity, worker: true, bridge: true},
	}
	add := func(r rule, names ...string) {
		for _, name := range names {
			all[api.WorkflowServicePrefix+name] = r
		}
	}
	add(rule{people: identity, worker: true, bridge: true},
		"GetClusterInfo", "GetSearchAttributes", "ListNamespaces", "DescribeNamespace",
		"DescribeTaskQueue", "ListTaskQueuePartitions", "ListWorkers", "CountWorkers", "DescribeWorker",
		"ListWorkerDeployments", "DescribeWorkerDeployment", "DescribeWorkerDeploymentVersion",
		"ListSchedules", "CountSchedules", "ListBatchOperations")
	add(rule{people: reading, worker: true, bridge: true},
		"DescribeWorkflowExecution", "GetWorkflowExecutionHistory", "GetWorkflowExecutionHistoryReverse",
		"QueryWorkflow", "PollWorkflowExecutionUpdate")
	add(rule{people: listing, worker: true, bridge: true},
		"ListWorkflowExecutions", "CountWorkflowExecutions", "ScanWorkflowExecutions",
		"ListOpenWorkflowExecutions", "ListClosedWorkflowExecutions", "ListArchivedWorkflowExecutions")
	add(rule{people: messaging, worker: true, bridge: true}, "SignalWorkflowExecution")
	add(rule{people: messaging}, "UpdateWorkflowExecution")
	add(rule{worker: true, bridge: true}, "StartWorkflowExecution", "SignalWithStartWorkflowExecution")
	add(rule{worker: true},
		"PollWorkflowTaskQueue", "RespondWorkflowTaskCompleted", "RespondWorkflowTaskFailed", "RespondQueryTaskCompleted",
		"PollActivityTaskQueue", "RecordActivityTaskHeartbeat", "RespondActivityTaskCompleted", "RespondActivityTaskFailed",
		"RespondActivityTaskCanceled", "RecordWorkerHeartbeat", "ShutdownWorker")
	add(rule{bridge: true}, "TerminateWorkflowExecution", "UpdateWorkflowExecutionOptions")
	return all
}()
