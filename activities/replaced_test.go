package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// TestAStartThatIsCancelledReplacesNothing: a start that is cancelled before it has deleted the run that it replaces deletes nothing: the CronJob may be suspended, or
// no longer replace runs, by then. Here the attempt is cancelled as it reads the Job (a worker that stood still after that read does
// the same without a cancel that it knows of: the delete has no lease).
func TestAStartThatIsCancelledReplacesNothing(t *testing.T) {
	object := helloCronJob()
	object.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent
	before := cronJobsJob("hello-before")
	s := newStage(t, []runtime.Object{before}, []*ostinatov1.CronJob{object})
	ctx, cancel := context.WithCancel(t.Context())
	s.kubernetes.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return false, nil, nil
	})
	request := startRequest()
	request.Digest = schedule.SpecOf(object).Digest()
	request.Replace = []schedule.Delete{{Name: before.Name, UID: string(before.UID), Replaced: true}}
	environment := s.environment()
	environment.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(s.by)}})
	result, err := runIn[protocol.StartRunResult](s, environment, protocol.StartRunActivity, request)
	assert.NoError(t, err)
	assert.True(t, result.GaveUp && result.Unsent)
	assert.True(t, s.jobExists(before.Name), "deleted, and nothing in its place")
}
