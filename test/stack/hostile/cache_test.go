package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// maxCached is how much more memory a worker has with a cache that is full, in bytes: a container has it.
const maxCached = 1 << 30

// TestWorkflowsThatSleepTakeLittleMemoryInSum: each has a state within every bound, keeps it for as long as its Job waits, and
// they are fewer than a worker keeps in memory.
func TestWorkflowsThatSleepTakeLittleMemoryInSum(t *testing.T) {
	sleepers := harness.Size(300)
	namespace := stack.Namespace(t)
	below := stack.MeasureMemory(t)
	finished := keepFinishing(t, namespace)
	state := squeezed(t, `{"accounted":`+repeated(`"`+strings.Repeat("x", 120)+`"`, 30_000)+`}`)
	for n := range sleepers {
		ours := stack.CreateJob(t, namespace, fmt.Sprintf("ours-%d", n), harness.JobSpec(harness.Suspended(), harness.RunSeconds(1)))
		_, err := stack.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: harness.JobWorkflow(namespace, ours.Name), TaskQueue: names.Cluster("").JobTaskQueue(),
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		}, protocol.JobWorkflow, json.RawMessage(fmt.Sprintf(`{"job":{"namespace":%q,"name":%q,"uid":%q},"spec":{"suspend":true},"state":%s}`,
			namespace, ours.Name, ours.UID, state)))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, sleepers - 1} {
		name := fmt.Sprintf("ours-%d", n)
		if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, held, func(ctx context.Context) error { return stack.JobHas(ctx, namespace, name, batchv1.JobComplete) })
	}
	t.Logf("%d other Jobs have finished meanwhile", finished())
	below(maxCached)
}
