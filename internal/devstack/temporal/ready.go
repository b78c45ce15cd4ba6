package temporal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"ostinato.dev/ostinato/internal/devstack/await"
)

const readyPoll = 20 * time.Millisecond

// waitReady returns when the namespace's workflows can be read through the frontend and the Web UI serves its page.
func (s *Server) waitReady(ctx context.Context) error {
	connection, err := grpc.NewClient(s.FrontendAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to Temporal frontend %s: %w", s.FrontendAddress(), err)
	}
	defer func() { _ = connection.Close() }()
	frontend := workflowservice.NewWorkflowServiceClient(connection)
	if err := poll(ctx, func(ctx context.Context) error { return historyAnswers(ctx, frontend, s.options.Namespace) }); err != nil {
		return fmt.Errorf("wait for Temporal frontend %s, namespace %q: %w", s.FrontendAddress(), s.options.Namespace, err)
	}
	if s.ports.ui == 0 {
		return nil
	}
	if err := poll(ctx, func(ctx context.Context) error { return pageAnswers(ctx, s.UIAddress()) }); err != nil {
		return fmt.Errorf("wait for Temporal Web UI %s: %w", s.UIAddress(), err)
	}
	return nil
}

// historyAnswers asks for a workflow that does not exist: that it is reported missing shows that the frontend knows the
// namespace and that a history shard is loaded.
func historyAnswers(ctx context.Context, frontend workflowservice.WorkflowServiceClient, namespace string) error {
	_, err := frontend.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace,
		Execution: &common.WorkflowExecution{WorkflowId: "readiness-probe"},
	})
	var missing *serviceerror.NotFound
	if errors.As(serviceerror.FromStatus(status.Convert(err)), &missing) {
		return nil
	}
	return err
}

func pageAnswers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

// poll repeats check, each time for five seconds at most, until it succeeds or ctx ends.
func poll(ctx context.Context, check func(context.Context) error) error {
	return await.Success(ctx, readyPoll, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return check(ctx)
	})
}
