package access

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/api/adminservice/v1"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"ostinato.dev/ostinato/internal/names"
)

// methodsOf returns the requests of a service's methods, by full name.
func methodsOf(t *testing.T, service string) map[string]protoreflect.MessageDescriptor {
	t.Helper()
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	require.NoError(t, err)
	methods := found.(protoreflect.ServiceDescriptor).Methods()
	all := map[string]protoreflect.MessageDescriptor{}
	for i := range methods.Len() {
		method := methods.Get(i)
		all["/"+service+"/"+string(method.Name())] = method.Input()
	}
	return all
}

// served are the services of a frontend.
func served(t *testing.T) map[string]protoreflect.MessageDescriptor {
	t.Helper()
	all := map[string]protoreflect.MessageDescriptor{}
	for _, service := range []string{
		workflowservice.WorkflowService_ServiceDesc.ServiceName, operatorservice.OperatorService_ServiceDesc.ServiceName,
		adminservice.AdminService_ServiceDesc.ServiceName, grpc_health_v1.Health_ServiceDesc.ServiceName,
	} {
		maps.Copy(all, methodsOf(t, service))
	}
	return all
}

// administered are the methods that only administrators may call. A method that a new Temporal server brings fails the test
// until it has a row here or in rules.
var administered = []string{
	"WorkflowService/CountActivityExecutions", "WorkflowService/CountNexusOperationExecutions", "WorkflowService/CreateSchedule",
	"WorkflowService/CreateWorkerDeployment", "WorkflowService/CreateWorkerDeploymentVersion", "WorkflowService/CreateWorkflowRule",
	"WorkflowService/DeleteActivityExecution", "WorkflowService/DeleteNexusOperationExecution", "WorkflowService/DeleteSchedule",
	"WorkflowService/DeleteWorkerDeployment", "WorkflowService/DeleteWorkerDeploymentVersion",
	"WorkflowService/DeleteWorkflowExecution", "WorkflowService/DeleteWorkflowRule", "WorkflowService/DeprecateNamespace",
	"WorkflowService/DescribeActivityExecution", "WorkflowService/DescribeBatchOperation", "WorkflowService/DescribeDeployment",
	"WorkflowService/DescribeNexusOperationExecution", "WorkflowService/DescribeSchedule", "WorkflowService/DescribeWorkflowRule",
	"WorkflowService/ExecuteMultiOperation", "WorkflowService/FetchWorkerConfig", "WorkflowService/GetCurrentDeployment",
	"WorkflowService/GetDeploymentReachability", "WorkflowService/GetWorkerBuildIdCompatibility",
	"WorkflowService/GetWorkerTaskReachability", "WorkflowService/GetWorkerVersioningRules",
	"WorkflowService/ListActivityExecutions", "WorkflowService/ListDeployments", "WorkflowService/ListNexusOperationExecutions",
	"WorkflowService/ListScheduleMatchingTimes", "WorkflowService/ListWorkflowRules", "WorkflowService/PatchSchedule",
	"WorkflowService/PauseActivity", "WorkflowService/PauseActivityExecution", "WorkflowService/PauseWorkflowExecution",
	"WorkflowService/PollActivityExecution", "WorkflowService/PollNexusOperationExecution", "WorkflowService/PollNexusTaskQueue",
	"WorkflowService/PollWorkflowExecutionTimeSkipping", "WorkflowService/RecordActivityTaskHeartbeatById",
	"WorkflowService/RegisterNamespace", "WorkflowService/RequestCancelActivityExecution",
	"WorkflowService/RequestCancelNexusOperationExecution", "WorkflowService/RequestCancelWorkflowExecution",
	"WorkflowService/ResetActivity", "WorkflowService/ResetActivityExecution", "WorkflowService/ResetStickyTaskQueue",
	"WorkflowService/ResetWorkflowExecution", "WorkflowService/RespondActivityTaskCanceledById",
	"WorkflowService/RespondActivityTaskCompletedById", "WorkflowService/RespondActivityTaskFailedById",
	"WorkflowService/RespondNexusTaskCompleted", "WorkflowService/RespondNexusTaskFailed", "WorkflowService/SetCurrentDeployment",
	"WorkflowService/SetWorkerDeploymentCurrentVersion", "WorkflowService/SetWorkerDeploymentManager",
	"WorkflowService/SetWorkerDeploymentRampingVersion", "WorkflowService/StartActivityExecution",
	"WorkflowService/StartBatchOperation", "WorkflowService/StartNexusOperationExecution", "WorkflowService/StopBatchOperation",
	"WorkflowService/TerminateActivityExecution", "WorkflowService/TerminateNexusOperationExecution",
	"WorkflowService/TriggerWorkflowRule", "WorkflowService/UnpauseActivity", "WorkflowService/UnpauseActivityExecution",
	"WorkflowService/UnpauseWorkflowExecution", "WorkflowService/UpdateActivityExecutionOptions",
	"WorkflowService/UpdateActivityOptions", "WorkflowService/UpdateNamespace", "WorkflowService/UpdateSchedule",
	"WorkflowService/UpdateTaskQueueConfig", "WorkflowService/UpdateWorkerBuildIdCompatibility",
	"WorkflowService/UpdateWorkerConfig", "WorkflowService/UpdateWorkerDeploymentVersionComputeConfig",
	"WorkflowService/UpdateWorkerDeploymentVersionMetadata", "WorkflowService/UpdateWorkerVersioningRules",
	"WorkflowService/ValidateWorkerDeploymentVersionComputeConfig",
	"OperatorService/AddOrUpdateRemoteCluster", "OperatorService/AddSearchAttributes", "OperatorService/CreateNexusEndpoint",
	"OperatorService/DeleteNamespace", "OperatorService/DeleteNexusEndpoint", "OperatorService/GetNexusEndpoint",
	"OperatorService/ListClusters", "OperatorService/ListNexusEndpoints", "OperatorService/RemoveRemoteCluster",
	"OperatorService/RemoveSearchAttributes", "OperatorService/UpdateNexusEndpoint",
	"AdminService/AddOrUpdateRemoteCluster", "AdminService/AddSearchAttributes", "AdminService/AddTasks",
	"AdminService/CancelDLQJob", "AdminService/CloseShard", "AdminService/DeepHealthCheck", "AdminService/DeleteWorkflowExecution",
	"AdminService/DescribeCluster", "AdminService/DescribeDLQJob", "AdminService/DescribeHistoryHost",
	"AdminService/DescribeMutableState", "AdminService/DescribeTaskQueuePartition", "AdminService/ForceUnloadTaskQueuePartition",
	"AdminService/GenerateLastHistoryReplicationTasks", "AdminService/GetDLQMessages", "AdminService/GetDLQReplicationMessages",
	"AdminService/GetDLQTasks", "AdminService/GetNamespace", "AdminService/GetNamespaceReplicationMessages",
	"AdminService/GetReplicationMessages", "AdminService/GetSearchAttributes", "AdminService/GetShard",
	"AdminService/GetTaskQueueTasks", "AdminService/GetTaskQueueUserData", "AdminService/GetWorkflowExecutionRawHistory",
	"AdminService/GetWorkflowExecutionRawHistoryV2", "AdminService/ImportWorkflowExecution", "AdminService/ListClusterMembers",
	"AdminService/ListClusters", "AdminService/ListHistoryTasks", "AdminService/ListQueues", "AdminService/MergeDLQMessages",
	"AdminService/MergeDLQTasks", "AdminService/MigrateSchedule", "AdminService/PurgeDLQMessages", "AdminService/PurgeDLQTasks",
	"AdminService/ReapplyEvents", "AdminService/RebuildMutableState", "AdminService/RefreshWorkflowTasks",
	"AdminService/RemoveRemoteCluster", "AdminService/RemoveSearchAttributes", "AdminService/RemoveTask",
	"AdminService/ResendReplicationTasks", "AdminService/StartAdminBatchOperation",
	"AdminService/StreamWorkflowReplicationMessages", "AdminService/SyncWorkflowState",
	"Health/List", "Health/Watch",
}

func short(method string) string {
	parts := strings.Split(method, "/")
	service := parts[1][strings.LastIndex(parts[1], ".")+1:]
	return service + "/" + parts[2]
}

func TestEachMethodHasARow(t *testing.T) {
	all := served(t)
	var without []string
	for method := range all {
		_, ruled := rules[method]
		if !ruled {
			without = append(without, short(method))
		}
	}
	assert.ElementsMatch(t, administered, without)
	for method := range rules {
		assert.Contains(t, all, method)
	}
}

// What a person's right is asked about is the workflow that the server takes from the request.
func TestTheWorkflowOfEachRequestIsFound(t *testing.T) {
	for method, request := range served(t) {
		needs := rules[method].people
		if needs != reading && needs != messaging {
			continue
		}
		t.Run(short(method), func(t *testing.T) {
			kind, err := protoregistry.GlobalTypes.FindMessageByName(request.FullName())
			require.NoError(t, err)
			message := kind.New()
			require.Equal(t, 1, nameWorkflow(message, "cronjob/shop/hello"), "the request names one workflow")
			assert.Equal(t, "cronjob/shop/hello", workflowOf(message.Interface()))
		})
	}
}

// nameWorkflow sets the workflow ID of each execution that a request has, and returns how many there are.
func nameWorkflow(message protoreflect.Message, id string) int {
	var found int
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.IsList() || field.IsMap() || field.Kind() != protoreflect.MessageKind {
			continue
		}
		switch field.Message().FullName() {
		case "temporal.api.common.v1.WorkflowExecution":
			execution := message.Mutable(field).Message()
			execution.Set(execution.Descriptor().Fields().ByName("workflow_id"), protoreflect.ValueOfString(id))
			found++
		case "temporal.api.update.v1.UpdateRef":
			found += nameWorkflow(message.Mutable(field).Message(), id)
		}
	}
	return found
}

func TestARequestWithoutAWorkflowIsRefused(t *testing.T) {
	for _, request := range []any{nil, &workflowservice.SignalWorkflowExecutionRequest{}, &workflowservice.PollWorkflowExecutionUpdateRequest{}} {
		_, err := questions(names.Cluster(""), reading, request)
		assert.ErrorContains(t, err, "stands for no CronJob or Job")
	}
}
