package harness

import (
	"context"
	"fmt"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"ostinato.dev/ostinato/internal/protocol"
)

// Signal sends a signal as `temporal workflow signal` does: by workflow ID, with
// an optional argument.
func (h *Harness) Signal(t *testing.T, workflowID, name string, argument any) {
	t.Helper()
	if err := h.Temporal.SignalWorkflow(t.Context(), workflowID, "", name, argument); err != nil {
		t.Fatalf("signal %s to %s: %v", name, workflowID, err)
	}
}

// DescribeCronJob queries a CronJob workflow.
func (h *Harness) DescribeCronJob(ctx context.Context, namespace, name string) (protocol.CronJobDescription, error) {
	var description protocol.CronJobDescription
	value, err := h.Temporal.QueryWorkflow(ctx, CronJobWorkflow(namespace, name), "", protocol.DescribeQuery)
	if err != nil {
		return description, err
	}
	return description, value.Get(&description)
}

// History returns the events of a workflow's newest run.
func (h *Harness) History(ctx context.Context, workflowID string) (*history.History, error) {
	iterator := h.Temporal.GetWorkflowHistory(ctx, workflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var events []*history.HistoryEvent
	for iterator.HasNext() {
		event, err := iterator.Next()
		if err != nil {
			return nil, fmt.Errorf("read history of %s: %w", workflowID, err)
		}
		events = append(events, event)
	}
	return &history.History{Events: events}, nil
}

// WorkflowStatus returns the status of a workflow's newest run.
func (h *Harness) WorkflowStatus(ctx context.Context, workflowID string) (enums.WorkflowExecutionStatus, error) {
	description, err := h.Temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, err
	}
	return description.WorkflowExecutionInfo.Status, nil
}
