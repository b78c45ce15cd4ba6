package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"ostinato.dev/ostinato/internal/holder"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/starts"
)

// Signal is a signal to send.
type Signal struct {
	Name     string
	Argument any
}

// JobWorkflow is what there is to know of a Job's workflow.
type JobWorkflow struct {
	// Running is false when there is none, and the rest then empty.
	Running bool
	// AtWork says that a workflow task or an activity was under way meanwhile: more may be done than the description knows.
	AtWork      bool
	Description protocol.JobDescription
}

// Temporal is what the bridge asks of Temporal. All calls may be repeated.
type Temporal interface {
	// Start starts a workflow unless one of that ID runs, which gets its place in Temporal's task queues.
	Start(ctx context.Context, start starts.Start) (running bool, err error)
	// SignalWithStart signals the running workflow of start's ID, after starting it if need be.
	SignalWithStart(ctx context.Context, start starts.Start, signal Signal) error
	// Signal signals a running workflow; found is false when none runs.
	Signal(ctx context.Context, workflowID string, signal Signal) (found bool, err error)
	// Look says what runs under the ID of a workflow. It needs no worker.
	Look(ctx context.Context, workflowID string) (holder.Standing, error)
	// Replace starts a workflow unless it runs, and ends what else runs under its ID. found is what ran there.
	Replace(ctx context.Context, start starts.Start) (found holder.Standing, err error)
	// DescribeJob asks a Job's workflow what it knows. It needs a worker.
	DescribeJob(ctx context.Context, workflowID string) (JobWorkflow, error)
	// Terminate ends the running workflow at once, where it began before a time, whichever object it is of. ended is
	// false when there is none. It needs no worker.
	Terminate(ctx context.Context, workflowID string, before time.Time, reason string) (ended bool, err error)
	// Running calls visit with the IDs of the workflows of a type that run and are Ours, as far
	// as visibility knows, by pages of up to 1,000, as long as visit asks for more.
	Running(ctx context.Context, workflowType string, visit func(page []string) (more bool)) error
	// ObjectUID asks a running workflow for the UID of its object; found is false when none runs. It needs a worker.
	ObjectUID(ctx context.Context, workflowID string) (uid string, found bool, err error)
}

// NewTemporal returns Temporal by an SDK client of the namespace. Workflows start on the cluster's queues, by the weights.
func NewTemporal(sdk client.Client, namespace string, cluster names.Cluster, weights order.Weights, logger *slog.Logger) Temporal {
	return &temporalClient{sdk: sdk, namespace: namespace, cluster: cluster, weights: weights, logger: logger}
}

type temporalClient struct {
	sdk       client.Client
	namespace string
	cluster   names.Cluster
	weights   order.Weights
	logger    *slog.Logger
	// placed has the IDs of CronJob workflows that got their place; unplaceable is set where this Temporal takes no places.
	placed      sync.Map
	unplaceable atomic.Bool
}

func (t *temporalClient) Start(ctx context.Context, start starts.Start) (bool, error) {
	// Failing on a running workflow, rather than using it, says that it runs.
	return t.start(ctx, start, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL)
}

func (t *temporalClient) start(ctx context.Context, start starts.Start, conflict enumspb.WorkflowIdConflictPolicy) (running bool, err error) {
	options := start.Options(t.cluster, t.weights)
	options.WorkflowIDConflictPolicy = conflict
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err = t.sdk.ExecuteWorkflow(ctx, options, t.wanted(start.ID).Type, start.Input)
	switch {
	case temporal.IsWorkflowExecutionAlreadyStartedError(err):
		t.place(ctx, start)
		return true, nil
	case err != nil:
		return false, fmt.Errorf("start workflow %s: %w", start.ID, err)
	}
	return false, nil
}

func (t *temporalClient) SignalWithStart(ctx context.Context, start starts.Start, signal Signal) error {
	_, err := t.sdk.SignalWithStartWorkflow(ctx, start.ID, signal.Name, signal.Argument, start.Options(t.cluster, t.weights), t.wanted(start.ID).Type, start.Input)
	if err != nil {
		return fmt.Errorf("signal %s with start of workflow %s: %w", signal.Name, start.ID, err)
	}
	return nil
}

func (t *temporalClient) Signal(ctx context.Context, workflowID string, signal Signal) (bool, error) {
	err := t.sdk.SignalWorkflow(ctx, workflowID, "", signal.Name, signal.Argument)
	if err != nil && !notFound(err) {
		return false, fmt.Errorf("signal %s to workflow %s: %w", signal.Name, workflowID, err)
	}
	return err == nil, nil
}

func (t *temporalClient) Look(ctx context.Context, workflowID string) (holder.Standing, error) {
	found, _, err := holder.Look(ctx, t.sdk, t.wanted(workflowID))
	return found, err
}

func (t *temporalClient) Replace(ctx context.Context, start starts.Start) (holder.Standing, error) {
	found, err := t.Look(ctx, start.ID)
	if err != nil || found == holder.Paused {
		return found, err
	}
	if found == holder.Ours {
		t.place(ctx, start)
		return found, nil
	}
	running, err := t.start(ctx, start, found.ConflictPolicy(enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL))
	if running {
		found = holder.Ours
	}
	return found, err
}

// wanted is the workflow that is to run under an ID.
func (t *temporalClient) wanted(workflowID string) holder.Wanted {
	return starts.Wanted(t.cluster, workflowID)
}

// describe returns what Temporal says about the workflow that runs under an ID, and nil if the expected one does not
// run. A writer of Temporal may run any workflow under it, on a queue of its own: such a workflow is not asked about
// itself.
func (t *temporalClient) describe(ctx context.Context, workflowID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	found, description, err := holder.Look(ctx, t.sdk, t.wanted(workflowID))
	if found != holder.Ours && found != holder.Paused {
		return nil, err
	}
	return description, nil
}

// query asks the run that describe returns about itself.
func query[D any](ctx context.Context, t *temporalClient, workflowID string) (description D, found *workflowservice.DescribeWorkflowExecutionResponse, err error) {
	found, err = t.describe(ctx, workflowID)
	if found == nil || err != nil {
		return description, nil, err
	}
	value, err := t.sdk.QueryWorkflow(ctx, workflowID, found.GetWorkflowExecutionInfo().GetExecution().GetRunId(), protocol.DescribeQuery)
	if err != nil {
		return description, nil, fmt.Errorf("ask workflow %s for its description: %w", workflowID, err)
	}
	if err := value.Get(&description); err != nil {
		return description, nil, fmt.Errorf("read the description of workflow %s: %w", workflowID, err)
	}
	return description, found, nil
}

func (t *temporalClient) DescribeJob(ctx context.Context, workflowID string) (JobWorkflow, error) {
	description, before, err := query[protocol.JobDescription](ctx, t, workflowID)
	if before == nil || err != nil {
		return JobWorkflow{}, err
	}
	after, err := t.describe(ctx, workflowID)
	if err != nil {
		return JobWorkflow{}, err
	}
	busy := atWork(before) || atWork(after) ||
		before.GetWorkflowExecutionInfo().GetHistoryLength() != after.GetWorkflowExecutionInfo().GetHistoryLength()
	return JobWorkflow{Running: true, AtWork: busy, Description: description}, nil
}

func atWork(description *workflowservice.DescribeWorkflowExecutionResponse) bool {
	return description.GetPendingWorkflowTask() != nil || len(description.GetPendingActivities()) > 0
}

func (t *temporalClient) Terminate(ctx context.Context, workflowID string, before time.Time, reason string) (bool, error) {
	description, err := t.describe(ctx, workflowID)
	info := description.GetWorkflowExecutionInfo()
	if description == nil || err != nil || !info.GetStartTime().AsTime().Before(before) {
		return false, err
	}
	err = t.sdk.TerminateWorkflow(ctx, workflowID, info.GetExecution().GetRunId(), reason)
	if err != nil && !notFound(err) {
		return false, fmt.Errorf("terminate workflow %s: %w", workflowID, err)
	}
	return err == nil, nil
}

func (t *temporalClient) Running(ctx context.Context, workflowType string, visit func(page []string) (more bool)) error {
	var next []byte
	for {
		response, err := t.sdk.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: t.namespace, PageSize: 1000, NextPageToken: next,
			Query: fmt.Sprintf("WorkflowType = %q AND ExecutionStatus = 'Running'", workflowType),
		})
		if err != nil {
			return fmt.Errorf("list running %s workflows: %w", workflowType, err)
		}
		page := make([]string, 0, len(response.GetExecutions()))
		for _, execution := range response.GetExecutions() {
			id := execution.GetExecution().GetWorkflowId()
			if holder.Judge(execution, t.wanted(id)) == holder.Ours {
				page = append(page, id)
			}
		}
		if next = response.GetNextPageToken(); !visit(page) || len(next) == 0 {
			return nil
		}
	}
}

func (t *temporalClient) ObjectUID(ctx context.Context, workflowID string) (string, bool, error) {
	description, found, err := query[protocol.Described](ctx, t, workflowID)
	if notFound(err) {
		return "", false, nil
	}
	if found == nil || err != nil {
		return "", false, err
	}
	return cmp.Or(description.CronJob.UID, description.Job.UID), true, nil
}

// notFound reports whether no workflow of the ID runs. A missing Temporal namespace is another error, to be repeated.
func notFound(err error) bool { return is[*serviceerror.NotFound](err) }

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// errorClass names the kind of a Temporal error, for metrics and logs.
func errorClass(err error) string {
	switch {
	case is[*serviceerror.Unavailable](err):
		return "unavailable"
	case is[*serviceerror.ResourceExhausted](err):
		return "resource_exhausted"
	case is[*serviceerror.DeadlineExceeded](err), errors.Is(err, context.DeadlineExceeded):
		return "deadline_exceeded"
	case is[*serviceerror.PermissionDenied](err):
		return "permission_denied"
	case is[*serviceerror.InvalidArgument](err):
		return "invalid_argument"
	case is[*serviceerror.NamespaceNotFound](err):
		return "namespace_not_found"
	case is[*serviceerror.QueryFailed](err):
		return "query_failed"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "other"
}

// place gives a running CronJob workflow its place in Temporal's task queues, once: it may have been started years ago, by
// an older release or by other weights. Where that fails the workflow keeps the place it has, and the sweep goes on.
func (t *temporalClient) place(ctx context.Context, start starts.Start) {
	if t.unplaceable.Load() || t.wanted(start.ID).Type != protocol.CronJobWorkflow {
		return
	}
	if _, told := t.placed.LoadOrStore(start.ID, true); told {
		return
	}
	wanted := t.weights.Priority(start.Place)
	_, err := t.sdk.WorkflowService().UpdateWorkflowExecutionOptions(ctx, &workflowservice.UpdateWorkflowExecutionOptionsRequest{
		Namespace:         t.namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: start.ID},
		WorkflowExecutionOptions: &workflowpb.WorkflowExecutionOptions{Priority: &commonpb.Priority{
			PriorityKey: int32(wanted.PriorityKey), FairnessKey: wanted.FairnessKey, FairnessWeight: wanted.FairnessWeight,
		}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"priority"}},
	})
	switch {
	case err == nil || notFound(err):
	case !is[*serviceerror.PermissionDenied](err) && !is[*serviceerror.Unimplemented](err) && !is[*serviceerror.InvalidArgument](err):
		t.logger.Warn("a CronJob's workflow keeps its priority and fairness weight", "workflow", start.ID, "error", err)
	case !t.unplaceable.Swap(true):
		t.logger.Warn("workflows of CronJobs that run keep their priority and fairness weight: Temporal does not take others; "+
			"allow UpdateWorkflowExecutionOptions, or update the server", "error", err)
	}
}
