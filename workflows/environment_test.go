package workflows_test

import (
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/workflows"
)

// newEnvironment returns a test environment in which one of the workflows is
// registered, as a worker of the cluster registers it, to be started under an ID.
func newEnvironment(t *testing.T, cluster names.Cluster, name, id string) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	return newEnvironmentWith(t, client.MetricsNopHandler, workflows.Options{Cluster: cluster}, name, id)
}

// newEnvironmentWith returns one of a worker with the options, whose metrics go to the handler.
func newEnvironmentWith(t *testing.T, metrics client.MetricsHandler, options workflows.Options, name, id string) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetMetricsHandler(metrics)
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler))) // its lines would hide which test failed
	environment := suite.NewTestWorkflowEnvironment()
	environment.SetTestTimeout(time.Minute)
	environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workflows.Interceptor(options)}})
	environment.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id, WorkflowExecutionTimeout: 10 * 365 * 24 * time.Hour})
	workflows.Register(only{environment, name}, options)
	return environment
}

// only registers one workflow.
type only struct {
	*testsuite.TestWorkflowEnvironment
	name string
}

func (o only) RegisterWorkflowWithOptions(function any, options workflow.RegisterOptions) {
	if options.Name == o.name {
		o.TestWorkflowEnvironment.RegisterWorkflowWithOptions(function, options)
	}
}
