package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.temporal.io/api/common/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"ostinato.dev/ostinato/internal/names"
)

const readyPoll = 20 * time.Millisecond

// waitReady returns when the namespace's workflows can be read through the frontend and the Web UI serves its page.
func (s *Server) waitReady(ctx context.Context) error {
	err := poll(ctx, s.Answers)
	if err != nil {
		return fmt.Errorf("wait for Temporal frontend %s, namespace %q: %w", s.FrontendAddress(), s.options.Namespace, err)
	}
	if s.endpoints.ui.port == 0 {
		return nil
	}
	err = poll(ctx, func(ctx context.Context) error { return pageAnswers(ctx, s.UIAddress()) })
	if err != nil {
		return fmt.Errorf("wait for Temporal Web UI %s: %w", s.UIAddress(), err)
	}
	return nil
}

// Answers reports why workflows of the namespace can't be read through the frontend, nil if they can.
func (s *Server) Answers(ctx context.Context) error {
	return s.asks(func(frontend workflowservice.WorkflowServiceClient) error {
		return historyAnswers(ctx, frontend, s.options.Namespace)
	})
}

// TellShort puts what the server is short of among the data of its namespace, in words; empty for nothing. Repeating it changes nothing.
func (s *Server) TellShort(ctx context.Context, words string) error {
	return s.asks(func(frontend workflowservice.WorkflowServiceClient) error {
		_, err := frontend.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
			Namespace:  s.options.Namespace,
			UpdateInfo: &namespacepb.UpdateNamespaceInfo{Data: map[string]string{names.TemporalShortData: words}},
		})
		if err != nil {
			return fmt.Errorf("update namespace %s: %w", s.options.Namespace, err)
		}
		return nil
	})
}

// asks calls ask with the server's own frontend.
func (s *Server) asks(ask func(workflowservice.WorkflowServiceClient) error) error {
	connection, err := grpc.NewClient(s.endpoints.inside().dialled(), grpc.WithTransportCredentials(s.inner.credentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	return ask(workflowservice.NewWorkflowServiceClient(connection))
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
	for {
		err := once(ctx, check)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(readyPoll):
		}
	}
}

func once(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return check(ctx)
}
