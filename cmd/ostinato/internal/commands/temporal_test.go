package commands

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// temporalServer answers queries and updates of workflows as they are set up, and notes what it was asked for.
type temporalServer struct {
	workflowservice.UnimplementedWorkflowServiceServer
	address string
	// answers are by the name of the query or update. An error refuses it.
	answers map[string]any

	mutex sync.Mutex
	asked []string
	// requests are the arguments of updates.
	requests []string
	// ids are those of updates.
	ids []string
	// waits are the descriptions of the workflows of CronJobs, by name.
	waits map[string]protocol.CronJobDescription
	// unpolled are task queues that no worker polls.
	unpolled []string
	// silent: it takes connections, and describes no task queue until the caller gives up.
	silent bool
	// lost is what its databases have lost.
	lost string
}

func newTemporalServer(t *testing.T) *temporalServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &temporalServer{address: listener.Addr().String(), answers: map[string]any{}}
	served := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(served, server)
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	t.Cleanup(func() {
		served.Stop()
		if err := <-ended; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
	})
	return server
}

func (s *temporalServer) note(what string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !slices.Contains(s.asked, what) {
		s.asked = append(s.asked, what)
	}
}

func (s *temporalServer) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{ServerVersion: "1.32.0"}, nil
}

func (s *temporalServer) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	s.note("describe namespace")
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespacepb.NamespaceInfo{Data: map[string]string{names.TemporalLostData: s.lost}}}, nil
}

func (s *temporalServer) DescribeTaskQueue(
	ctx context.Context, request *workflowservice.DescribeTaskQueueRequest,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	s.note("describe task queues")
	if s.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if slices.Contains(s.unpolled, request.TaskQueue.Name) {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueuepb.PollerInfo{{Identity: "worker", LastAccessTime: timestamppb.New(now)}}}, nil
}

func (s *temporalServer) QueryWorkflow(_ context.Context, request *workflowservice.QueryWorkflowRequest) (*workflowservice.QueryWorkflowResponse, error) {
	name := request.Query.QueryType
	s.note("query " + name)
	answer, known := s.answers[name]
	if cronJob, ofCronJob := strings.CutPrefix(request.Execution.WorkflowId, "cronjob/shop/"); ofCronJob && name == protocol.DescribeQuery {
		described := s.waits[cronJob]
		described.CronJob.UID = cmp.Or(described.CronJob.UID, "uid-"+cronJob)
		answer, known = described, true
	}
	if !known {
		return nil, serviceerror.NewNotFound("workflow not found")
	}
	if kept, isLedger := answer.(ledger.Ledger); isLedger {
		var question protocol.LedgerQuestion
		if err := converter.GetDefaultDataConverter().FromPayloads(request.Query.QueryArgs, &question); err != nil {
			return nil, err
		}
		answer = kept.Page(ledger.Question(question), nil)
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer)
	return &workflowservice.QueryWorkflowResponse{QueryResult: payloads}, err
}

func (s *temporalServer) UpdateWorkflowExecution(
	_ context.Context, request *workflowservice.UpdateWorkflowExecutionRequest,
) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	input := request.Request.Input
	s.note("update " + input.Name)
	var argument string
	if len(input.Args.GetPayloads()) > 0 {
		argument = string(input.Args.Payloads[0].Data)
	}
	s.mutex.Lock()
	s.requests, s.ids = append(s.requests, argument), append(s.ids, request.Request.Meta.UpdateId)
	s.mutex.Unlock()
	outcome := &updatepb.Outcome{}
	answer := s.answers[input.Name]
	if decide, ok := answer.(func(string) any); ok {
		answer = decide(argument)
	}
	switch answer := answer.(type) {
	case error:
		outcome.Value = &updatepb.Outcome_Failure{Failure: &failurepb.Failure{
			Message: answer.Error(), FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{}},
		}}
	default:
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer)
		if err != nil {
			return nil, err
		}
		outcome.Value = &updatepb.Outcome_Success{Success: payloads}
	}
	return &workflowservice.UpdateWorkflowExecutionResponse{
		UpdateRef: &updatepb.UpdateRef{WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: request.WorkflowExecution.WorkflowId}, UpdateId: request.Request.Meta.UpdateId},
		Outcome:   outcome, Stage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED,
	}, nil
}
