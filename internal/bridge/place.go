package bridge

import (
	"context"
	"errors"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"ostinato.dev/ostinato/internal/protocol"
)

// placed remembers which CronJob workflows have their place, so that each is told once.
type placed struct {
	mutex sync.Mutex
	done  map[string]bool
	// refused says that this Temporal does not take places.
	refused bool
}

// begin reports whether a workflow is still to be told.
func (p *placed) begin(id string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.refused || p.done[id] {
		return false
	}
	if p.done == nil {
		p.done = map[string]bool{}
	}
	p.done[id] = true
	return true
}

// refuse ends it for all; it reports whether it was the first to do so.
func (p *placed) refuse() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	first := !p.refused
	p.refused, p.done = true, nil
	return first
}

// place gives a running CronJob workflow its place in Temporal's task queues. These workflows go on for years, with what
// they were started with: by an older release, or by other weights. Where nothing is new Temporal writes nothing. A
// workflow keeps the place it has where that fails: order is a matter of speed, and the sweep goes on.
func (t *temporalClient) place(ctx context.Context, start Start) {
	if start.Type != protocol.CronJobWorkflow || !t.placed.begin(start.ID) {
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
	var (
		denied  *serviceerror.PermissionDenied
		unknown *serviceerror.Unimplemented
		invalid *serviceerror.InvalidArgument
	)
	if errors.As(err, &denied) || errors.As(err, &unknown) || errors.As(err, &invalid) {
		if t.placed.refuse() {
			t.logger.Warn("workflows of CronJobs that run keep their priority and fairness weight: Temporal does not take others; allow UpdateWorkflowExecutionOptions, or update the server", "error", err)
		}
		return
	}
	if err != nil && !notFound(err) {
		t.logger.Warn("a CronJob's workflow keeps its priority and fairness weight", "workflow", start.ID, "error", err)
	}
}
