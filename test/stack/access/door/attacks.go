package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	nexuspb "go.temporal.io/api/nexus/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// Attack is a call by which an attacker of test/stack/hostile, or one like them, writes to Temporal.
type Attack struct {
	What string
	Call func(context.Context, client.Client) error
}

// Target is an object of namespace Shop, with the workflow that is attacked.
type Target struct{ Workflow, Name, UID string }

// Attacks are those on a CronJob and a Job, and on the watch of the Pods.
func Attacks(cronJob, running Target) []Attack {
	watch := Target{Workflow: names.Cluster("").PodWatchWorkflowID(0, 1)}
	var all []Attack
	add := func(what string, call func(context.Context, client.Client) error) {
		all = append(all, Attack{what, call})
	}
	for _, victim := range []Target{cronJob, running, watch} {
		for _, kind := range []string{protocol.CronJobWorkflow, protocol.JobWorkflow, protocol.PodWatchWorkflow, "Attack"} {
			add(kind+" in the place of "+victim.Workflow, startAs(victim.Workflow, kind))
		}
		for name, argument := range forgeries(cronJob, running) {
			add(fmt.Sprintf("signal %s to %s", name, victim.Workflow), func(ctx context.Context, c client.Client) error {
				return c.SignalWorkflow(ctx, victim.Workflow, "", name, argument)
			})
			add(fmt.Sprintf("update %s of %s", name, victim.Workflow), func(ctx context.Context, c client.Client) error {
				_, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
					WorkflowID: victim.Workflow, UpdateName: name, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageAccepted,
				})
				return err
			})
		}
		all = append(all, takingAway(victim.Workflow)...)
	}
	for _, activity := range []string{
		protocol.StartRunActivity, protocol.WriteStatusActivity, protocol.FindRunsActivity, protocol.SetSuspendActivity, protocol.CarryOutActivity,
		protocol.ReleaseOrphansActivity, protocol.ListPodsActivity, protocol.TerminatePodsActivity, protocol.WatchPodsActivity, "Evil",
	} {
		for _, queue := range queues {
			add("activity "+activity+" on "+queue+" without a workflow", func(ctx context.Context, c client.Client) error {
				_, err := c.ExecuteActivity(ctx, client.StartActivityOptions{ID: "attack-" + activity, TaskQueue: queue, StartToCloseTimeout: time.Second}, activity, nil)
				return err
			})
		}
		add("result of "+activity, func(ctx context.Context, c client.Client) error {
			return c.CompleteActivityByID(ctx, client.DefaultNamespace, running.Workflow, "", activity, job.State{}, nil)
		})
	}
	return append(all, asWorkers(running.Workflow)...)
}

// queues are those of Ostinato's workers.
var queues = []string{
	names.Cluster("").ControlTaskQueue(), names.Cluster("").JobTaskQueue(), names.Cluster("").BulkTaskQueue(), names.Cluster("").WatchTaskQueue(),
}

// startAs starts a workflow of this type in the place of the one that runs.
func startAs(workflow, kind string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: workflow, TaskQueue: "attacker", WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		}, kind, json.RawMessage(`{}`))
		return err
	}
}

// forgeries are arguments of every signal that Ostinato's own programs send, and of one that no one does.
func forgeries(cronJob, running Target) map[string]any {
	return map[string]any{
		protocol.CronJobSpecSignal: protocol.CronJobSpec{CronJob: protocol.ObjectReference{Namespace: Shop, Name: cronJob.Name, UID: cronJob.UID}, Overdue: true},
		protocol.JobSpecSignal:     protocol.JobSpec{Input: protocol.JobInput{Job: protocol.ObjectReference{Namespace: Shop, Name: running.Name, UID: running.UID}}},
		protocol.DeletedSignal:     protocol.Deleted{UID: cronJob.UID},
		protocol.JobSeenSignal:     protocol.JobSeen{CronJobUID: cronJob.UID, Name: running.Name, UID: running.UID},
		protocol.PodsSignal:        protocol.PodFacts{JobUID: running.UID, Differ: true},
		"reboot":                   json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)),
	}
}

// takingAway are the calls that end, stop or turn back a workflow.
func takingAway(workflow string) []Attack {
	execution := &commonpb.WorkflowExecution{WorkflowId: workflow}
	options := client.StartWorkflowOptions{ID: workflow, TaskQueue: names.Cluster("").JobTaskQueue(), WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}
	return []Attack{
		{"terminate " + workflow, func(ctx context.Context, c client.Client) error { return c.TerminateWorkflow(ctx, workflow, "", "x") }},
		{"cancel " + workflow, func(ctx context.Context, c client.Client) error { return c.CancelWorkflow(ctx, workflow, "") }},
		{"signal with start of " + workflow, func(ctx context.Context, c client.Client) error {
			_, err := c.SignalWithStartWorkflow(ctx, workflow, protocol.SuspendSignal, nil, options, protocol.JobWorkflow, json.RawMessage(`{}`))
			return err
		}},
		{"update with start of " + workflow, func(ctx context.Context, c client.Client) error {
			_, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
				StartWorkflowOperation: c.NewWithStartWorkflowOperation(options, protocol.CronJobWorkflow),
				UpdateOptions:          client.UpdateWorkflowOptions{WorkflowID: workflow, UpdateName: protocol.TriggerSignal, WaitForStage: client.WorkflowUpdateStageAccepted},
			})
			return err
		}},
		{"reset " + workflow, func(ctx context.Context, c client.Client) error {
			_, err := c.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
				Namespace: client.DefaultNamespace, WorkflowExecution: execution, WorkflowTaskFinishEventId: 3, RequestId: "attack",
			})
			return err
		}},
		{"delete " + workflow, func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{Namespace: client.DefaultNamespace, WorkflowExecution: execution})
			return err
		}},
		{"pause " + workflow, func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().PauseWorkflowExecution(ctx, &workflowservice.PauseWorkflowExecutionRequest{
				Namespace: client.DefaultNamespace, WorkflowId: workflow, Identity: "attacker", Reason: "x", RequestId: "attack",
			})
			return err
		}},
		{"pin " + workflow, func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().UpdateWorkflowExecutionOptions(ctx, &workflowservice.UpdateWorkflowExecutionOptionsRequest{Namespace: client.DefaultNamespace, WorkflowExecution: execution})
			return err
		}},
	}
}

// asWorkers are the calls of a worker of the attacker's, and those that reach many workflows at once.
func asWorkers(workflow string) []Attack {
	all := []Attack{
		{"result by a token", func(ctx context.Context, c client.Client) error {
			return c.CompleteActivity(ctx, []byte("made up"), job.State{}, nil)
		}},
		{"failure by an ID", func(ctx context.Context, c client.Client) error {
			return c.CompleteActivityByID(ctx, client.DefaultNamespace, workflow, "", "1", nil, errors.New("x"))
		}},
		{"heartbeat by an ID", func(ctx context.Context, c client.Client) error {
			return c.RecordActivityHeartbeatByID(ctx, client.DefaultNamespace, workflow, "", "1")
		}},
		{"answer of a workflow task", func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().RespondWorkflowTaskCompleted(ctx, &workflowservice.RespondWorkflowTaskCompletedRequest{Namespace: client.DefaultNamespace, TaskToken: []byte("made up")})
			return err
		}},
		{"schedule", func(ctx context.Context, c client.Client) error {
			_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{ID: "attack", Action: &client.ScheduleWorkflowAction{ID: workflow, Workflow: protocol.JobWorkflow, TaskQueue: queues[0]}})
			return err
		}},
		{"batch", func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().StartBatchOperation(ctx, &workflowservice.StartBatchOperationRequest{Namespace: client.DefaultNamespace, VisibilityQuery: "WorkflowType != ''", JobId: "attack", Reason: "x"})
			return err
		}},
		{"Nexus endpoint", func(ctx context.Context, c client.Client) error {
			_, err := c.OperatorService().CreateNexusEndpoint(ctx, &operatorservice.CreateNexusEndpointRequest{Spec: &nexuspb.EndpointSpec{Name: "attack"}})
			return err
		}},
		{"list of everyone's workflows", func(ctx context.Context, c client.Client) error {
			_, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: client.DefaultNamespace})
			return err
		}},
	}
	for _, queue := range queues {
		all = append(all, Attack{"workflow tasks of " + queue, func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{Namespace: client.DefaultNamespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}})
			return err
		}}, Attack{"activity tasks of " + queue, func(ctx context.Context, c client.Client) error {
			_, err := c.WorkflowService().PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{Namespace: client.DefaultNamespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}})
			return err
		}})
	}
	return all
}

// RefuseAll tries each attack as each of the people, and fails the test for what Temporal does not refuse.
func RefuseAll(t *testing.T, attacks []Attack, people map[string]client.Client) {
	t.Helper()
	began := time.Now()
	for user, c := range people {
		for _, attack := range attacks {
			ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
			err := attack.Call(ctx, c)
			cancel()
			var denied *serviceerror.PermissionDenied
			if !errors.As(err, &denied) {
				t.Errorf("%s: %s: %v", user, attack.What, err)
			}
		}
	}
	t.Logf("%d attacks by each of %d people in %s", len(attacks), len(people), time.Since(began).Round(100*time.Millisecond))
}

// RunOf is the run of a workflow and its status, as a reader sees it.
func RunOf(t *testing.T, reader client.Client, workflow string) string {
	t.Helper()
	described, err := reader.DescribeWorkflowExecution(t.Context(), workflow, "")
	if err != nil {
		t.Fatal(err)
	}
	info := described.GetWorkflowExecutionInfo()
	return info.GetExecution().GetRunId() + " " + info.GetStatus().String()
}

// ByNoPerson fails the test if a reader finds an event in the history of a workflow that a person has brought about.
func ByNoPerson(t *testing.T, reader client.Client, workflow string) {
	t.Helper()
	events := reader.GetWorkflowHistory(t.Context(), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if by := event.GetPrincipal(); by.GetType() == names.KubernetesCaller {
			t.Errorf("%s has %s by %s", workflow, event.GetEventType(), by.GetName())
		}
	}
}
