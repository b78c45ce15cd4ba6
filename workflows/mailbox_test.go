package workflows

import (
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Many large signals take long to decode, and the SDK takes a coroutine that does not let others go on for a deadlock.
func TestOthersGoOnWhileManySignalsAreTaken(t *testing.T) {
	const signals = 100
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestWorkflowEnvironment()
	environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{Interceptor(Options{})}})
	taken, turns := 0, 0
	environment.RegisterDelayedCallback(func() {
		for range signals {
			environment.SignalWorkflow("any", nil)
		}
	}, time.Second)
	environment.ExecuteWorkflow(func(ctx workflow.Context) error {
		box := newMailbox(ctx)
		if err := workflow.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
		over := false
		workflow.Go(ctx, func(ctx workflow.Context) {
			_ = workflow.Await(ctx, func() bool {
				turns++
				return over
			})
		})
		for range box.drain(ctx) {
			taken++
		}
		over = true
		return nil
	})
	if err := environment.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if taken != signals || turns < signals/drainAtATime-1 {
		t.Errorf("%d signals were taken, and another had %d turns meanwhile", taken, turns)
	}
}
