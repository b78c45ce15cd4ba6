package bridge

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// listing stands for a Temporal whose visibility knows these workflows.
type listing struct {
	client.Client
	executions []*workflowpb.WorkflowExecutionInfo
}

func (l listing) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: l.executions}, nil
}

// Whoever may write to Temporal decides what a list holds under the IDs of Ostinato's.
func TestAListHoldsOnlyWhatRunsAndIsOurs(t *testing.T) {
	listed := func(id, queue string, delay time.Duration) *workflowpb.WorkflowExecutionInfo {
		return &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Type: &commonpb.WorkflowType{Name: protocol.JobWorkflow}, TaskQueue: queue,
			Status:    enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
			StartTime: timestamppb.New(after(0)), ExecutionTime: timestamppb.New(after(0).Add(delay)),
		}
	}
	temporal := NewTemporal(listing{executions: []*workflowpb.WorkflowExecutionInfo{
		listed("job/shop/ours", "ostinato-jobs", 0),
		listed("job/shop/on-another-queue", "nobody", 0),
		listed("job/shop/next-year", "ostinato-jobs", 8760*time.Hour),
	}}, "default", "", order.Weights{}, slog.New(slog.DiscardHandler))
	var ids []string
	require.NoError(t, temporal.Running(t.Context(), protocol.JobWorkflow, func(page []string) bool {
		ids = append(ids, page...)
		return true
	}))
	assert.Equal(t, []string{"job/shop/ours"}, ids)
}
