package tenant

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// crowd is how many Jobs one tenant creates at once.
var crowd = harness.Size(2000)

// TestAnEditIsNotBehindTheJobsOfAnotherNamespace: the bridge hears of an edit after two
// thousand new Jobs of another namespace, and sends it before the most of them are started.
func TestAnEditIsNotBehindTheJobsOfAnotherNamespace(t *testing.T) {
	tenant, other := stack.Namespace(t), stack.Namespace(t)
	stack.CreateJob(t, other, "edited", harness.JobSpec(harness.Suspended(), harness.RunUntilEnded()))
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		return stack.JobHas(ctx, other, "edited", batchv1.JobSuspended)
	})
	bridge := stack.Bridges()[0].PID()
	hold(t, bridge, syscall.SIGSTOP)
	resumed := false
	defer func() {
		if !resumed {
			hold(t, bridge, syscall.SIGCONT)
		}
	}()
	spec := harness.JobSpec(harness.Suspended())
	spec.ManagedBy = ptr.To(names.JobController)
	create(t, tenant, crowd, func(i int) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crowd-%d", i)}, Spec: spec}
	})
	_, err := stack.Kubernetes.BatchV1().Jobs(other).Patch(t.Context(), "edited", types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	hold(t, bridge, syscall.SIGCONT)
	resumed = true

	var taken time.Time
	harness.Eventually(t, harness.Bulk, func(ctx context.Context) error {
		events, err := stack.History(ctx, harness.JobWorkflow(other, "edited"))
		if err != nil {
			return err
		}
		taken, err = signalled(events, protocol.JobSpecSignal, since)
		return err
	})
	const sampled = 40
	before := 0
	for i := 0; i < crowd; i += crowd / sampled {
		id := harness.JobWorkflow(tenant, fmt.Sprintf("crowd-%d", i))
		harness.Eventually(t, harness.Bulk, func(ctx context.Context) error {
			description, err := stack.Temporal.DescribeWorkflowExecution(ctx, id, "")
			if err == nil && description.GetWorkflowExecutionInfo().GetStartTime().AsTime().Before(taken) {
				before++
			}
			return err
		})
	}
	if before > sampled/4 {
		t.Errorf("the edit came after %d of %d Jobs of another namespace, want a quarter at most", before, sampled)
	}
}

func hold(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatalf("signal process %d: %v", pid, err)
	}
}

// signalled returns when the first signal of a name came since then.
func signalled(events *history.History, name string, since time.Time) (at time.Time, err error) {
	for _, event := range events.Events {
		named := event.EventType == enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED && event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == name
		if at = event.GetEventTime().AsTime(); named && at.After(since) {
			return at, nil
		}
	}
	return at, fmt.Errorf("no signal %s came", name)
}
