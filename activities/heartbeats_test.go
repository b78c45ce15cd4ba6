package activities_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// An attempt that Temporal takes for lost is repeated, and its answer is dropped: one that waits for a slow API server says in
// time that it goes on.
func TestEveryActivityOfASlowAPIServerHeartbeats(t *testing.T) {
	const timeout, slow = 4 * time.Second, 9 * time.Second
	for name, request := range elsewhere {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod}, []*ostinatov1.CronJob{helloCronJob()})
			var first sync.Once
			wait := func(clienttesting.Action) (bool, runtime.Object, error) {
				first.Do(func() { time.Sleep(slow) })
				return false, nil, nil
			}
			s.kubernetes.PrependReactor("*", "*", wait)
			s.cronJobs.PrependReactor("*", "*", wait)
			var suite testsuite.WorkflowTestSuite
			environment := suite.NewTestWorkflowEnvironment()
			environment.SetTestTimeout(time.Minute)
			environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(asking.Own)}})
			s.activities.RegisterControl(environment)
			s.activities.RegisterBulk(environment)
			call := func(ctx workflow.Context) error {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: time.Minute, HeartbeatTimeout: timeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
				})
				return workflow.ExecuteActivity(ctx, name, s.planned(request)).Get(ctx, nil)
			}
			environment.RegisterWorkflow(call)
			environment.ExecuteWorkflow(call)
			var timedOut *temporal.TimeoutError
			if err := environment.GetWorkflowError(); errors.As(err, &timedOut) {
				t.Error(err)
			}
			read := append(slices.Clone(s.kubernetes.Actions()), s.cronJobs.Actions()...)
			if len(read) == 0 {
				t.Error("nothing was asked of the API server")
			}
		})
	}
}
