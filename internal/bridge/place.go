package bridge

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"ostinato.dev/ostinato/internal/protocol"
)

// place gives a running CronJob workflow its place in Temporal's task queues. These workflows go on for years, with what
// they were started with: by an older release, or by other weights. Where nothing is new Temporal writes nothing. A
// workflow keeps the place it has where that fails: order is a matter of speed, and the sweep goes on.
func (t *temporalClient) place(ctx context.Context, start Start) {
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
