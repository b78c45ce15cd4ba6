package workflows_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/workflows"
)

// afterOurs notes the workflows that the SDK calls.
type afterOurs struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	called bool
}

func (a *afterOurs) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	a.WorkflowInboundInterceptorBase.Next = next
	return a
}

func (a *afterOurs) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	a.called = true
	return a.WorkflowInboundInterceptorBase.ExecuteWorkflow(ctx, in)
}

// The frames of the SDK's call by reflection stay on the stack of each workflow that waits.
func TestWorkflowsThatWaitInThousandsAreNotCalledByReflection(t *testing.T) {
	for _, test := range []struct {
		workflow string
		input    any
		bySDK    bool
	}{
		{protocol.CronJobWorkflow, &protocol.CronJobInput{}, false},
		{protocol.JobWorkflow, &protocol.JobInput{}, false},
		{protocol.CronJobWorkflow, nil, true},
		{protocol.JobWorkflow, nil, true},
	} {
		environment := newEnvironment(t, names.Cluster(""), test.workflow, "id")
		after := &afterOurs{}
		environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workflows.Interceptor(workflows.Options{}), after}})
		environment.ExecuteWorkflow(test.workflow, test.input)
		if after.called != test.bySDK {
			t.Errorf("%s of %v: called by the SDK %t, want %t", test.workflow, test.input, after.called, test.bySDK)
		}
		var invalid *temporal.ApplicationError
		if err := environment.GetWorkflowError(); !errors.As(err, &invalid) || invalid.Type() != protocol.InvalidInputErrorType {
			t.Errorf("%s of %v: error %v, want %s", test.workflow, test.input, err, protocol.InvalidInputErrorType)
		}
	}
}
