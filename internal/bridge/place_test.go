package bridge

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/starts"
)

// runningWorkflows stands for a Temporal in which every workflow runs already. It notes the workflows that are given a
// place.
type runningWorkflows struct {
	client.Client
	service placing
}

// placing is its service.
type placing struct {
	workflowservice.WorkflowServiceClient
	answer error
	placed []string
	last   *workflowservice.UpdateWorkflowExecutionOptionsRequest
}

func (r *runningWorkflows) WorkflowService() workflowservice.WorkflowServiceClient { return &r.service }

func (r *runningWorkflows) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it runs", "", "")
}

func (p *placing) UpdateWorkflowExecutionOptions(_ context.Context, request *workflowservice.UpdateWorkflowExecutionOptionsRequest, _ ...grpc.CallOption) (*workflowservice.UpdateWorkflowExecutionOptionsResponse, error) {
	p.placed, p.last = append(p.placed, request.GetWorkflowExecution().GetWorkflowId()), request
	return &workflowservice.UpdateWorkflowExecutionOptionsResponse{}, p.answer
}

func TestCronJobWorkflowsThatRunGetTheirPlaceOnce(t *testing.T) {
	asked := []starts.Start{
		{ID: "cronjob/shop/a", Place: order.Place{Work: order.Due, Namespace: "shop"}},
		{ID: "job/shop/a", Place: order.Place{Work: order.Running, Namespace: "shop"}},
		{ID: "cronjob/shop/b", Place: order.Place{Work: order.Due, Namespace: "shop"}},
	}
	for _, test := range []struct {
		name   string
		answer error
		want   []string
		says   int
	}{
		{"by a server that takes it", nil, []string{"cronjob/shop/a", "cronjob/shop/b"}, 0},
		{"unless that is not allowed", serviceerror.NewPermissionDenied("no", ""), []string{"cronjob/shop/a"}, 1},
		{"unless the server is too old for the call", serviceerror.NewUnimplemented("no"), []string{"cronjob/shop/a"}, 1},
		{"unless the server is too old for priorities", serviceerror.NewInvalidArgument("unknown path"), []string{"cronjob/shop/a"}, 1},
		{"whatever becomes of one of them", serviceerror.NewUnavailable("later"), []string{"cronjob/shop/a", "cronjob/shop/b"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			var weights order.Weights
			if err := weights.Set("shop=5"); err != nil {
				t.Fatal(err)
			}
			server := &runningWorkflows{service: placing{answer: test.answer}}
			temporal := NewTemporal(server, "default", "", weights, slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				for _, start := range asked {
					if running, err := temporal.Start(t.Context(), start); !running || err != nil {
						t.Errorf("start %s: running %v, %v", start.ID, running, err)
					}
				}
			}
			if !slices.Equal(server.service.placed, test.want) {
				t.Errorf("placed %v, want %v", server.service.placed, test.want)
			}
			place := server.service.last.GetWorkflowExecutionOptions().GetPriority()
			if place.GetPriorityKey() != 1 || place.GetFairnessKey() != "shop" || place.GetFairnessWeight() != 5 || !slices.Equal(server.service.last.GetUpdateMask().GetPaths(), []string{"priority"}) {
				t.Errorf("asked for %v", server.service.last)
			}
			if said := strings.Count(log.String(), "level=WARN"); said != test.says {
				t.Errorf("said %d times, want %d: %s", said, test.says, &log)
			}
		})
	}
}
