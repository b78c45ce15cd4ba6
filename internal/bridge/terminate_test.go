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
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/protocol"
)

// oneWorkflow stands for a Temporal in which the workflow of a CronJob runs.
type oneWorkflow struct {
	client.Client
	id, kind   string
	uid        string
	began      time.Time
	queue      string
	asked      int
	terminated []string
}

func (w *oneWorkflow) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: w.id, RunId: "r1"},
		Type:      &commonpb.WorkflowType{Name: w.kind},
		TaskQueue: w.queue, StartTime: timestamppb.New(w.began), Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (w *oneWorkflow) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	w.asked++
	payload, err := converter.GetDefaultDataConverter().ToPayloads(protocol.CronJobDescription{CronJob: protocol.ObjectReference{UID: w.uid}})
	return client.NewValue(payload), err
}

func (w *oneWorkflow) TerminateWorkflow(_ context.Context, _, runID, _ string, _ ...any) error {
	w.terminated = append(w.terminated, runID)
	return nil
}

// The CronJob n2 was made anew under the name of n1, and the built-in controller went on with it.
func TestWhichWorkflowIsStale(t *testing.T) {
	ours := names.Cluster("").ControlTaskQueue()
	for name, test := range map[string]struct {
		running oneWorkflow
		want    bool
	}{
		"of this object, begun before":       {oneWorkflow{uid: "n2", began: after(2), queue: ours}, true},
		"of this object, begun since":        {oneWorkflow{uid: "n2", began: after(6), queue: ours}, false},
		"of its predecessor, begun before":   {oneWorkflow{uid: "n1", began: after(2), queue: ours}, true},
		"of its predecessor, begun since":    {oneWorkflow{uid: "n1", began: after(6), queue: ours}, false},
		"somebody else's, on a queue of his": {oneWorkflow{uid: "n2", began: after(2), queue: "his"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.running.id, test.running.kind = nativeID, protocol.CronJobWorkflow
			temporal := NewTemporal(&test.running, "default", "", order.Weights{}, slog.New(slog.DiscardHandler))
			ended, err := temporal.Terminate(t.Context(), nativeID, after(5), "stale")
			require.NoError(t, err)
			assert.Equal(t, test.want, ended)
			assert.Equal(t, test.want, len(test.running.terminated) == 1)
		})
	}
}
