package commands

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/steering"
	k8sfake "ostinato.dev/ostinato/internal/testing/fake"
	"ostinato.dev/ostinato/internal/testing/fixture/asking"
)

// The clock of the person's machine is 40 s ahead of Temporal's. A signal that comes 20 s after the command is the later word.
func TestAResumeSignalAfterASuspensionIsCarriedOutWhateverTheClockOfTheMachine(t *testing.T) {
	w := newWorld(t)
	_, _, code := w.run(t, "suspend", "report", "--by", "ada")
	require.Zero(t, code)
	written := report()
	cronJobs := k8sfake.NewCronJobs(&written)
	_, err := cronJobs.CronJobs(written.Namespace).Patch(t.Context(), written.Name, types.MergePatchType, []byte(w.api.patches[0]), metav1.PatchOptions{})
	require.NoError(t, err)

	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	environment.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{asking.Interceptor(asking.Own)}})
	activities.New(activities.Options{
		Kubernetes: fake.NewClientset(), CronJobs: cronJobs, AcceptSignals: steering.All(), Metrics: activities.NewMetrics(prometheus.NewRegistry()),
	}).RegisterControl(environment)
	_, err = environment.ExecuteActivity(protocol.SetSuspendActivity, protocol.SetSuspendRequest{
		Kind: protocol.CronJobKind, Object: protocol.ObjectReference{Namespace: written.Namespace, Name: written.Name, UID: string(written.UID)},
		Wish: protocol.Wish{At: now.Add(-20 * time.Second)},
	})
	require.NoError(t, err)
	stored := cronJobs.Stored(written.Namespace, written.Name)
	assert.False(t, ptr.Deref(stored.Spec.Suspend, false), "the signal was dropped: annotations %v", stored.Annotations)
}
