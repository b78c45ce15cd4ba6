//go:build trial

package slow

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/devstack/node"
	"ostinato.dev/ostinato/test/harness"
)

// everyPod bounds how long 10,000 Pods take to start, or to go, on a machine of two cores.
const everyPod = 10 * time.Minute

// A Job of 10,000 Pods whose Pods end all the time is suspended: while its Pods are listed, facts come.
func TestABusyJobIsSuspended(t *testing.T) {
	const (
		pods        = 10_000
		endsASecond = 3
		// A bulk rate of 500 Pods a second ends them in 20 s; the rest is the list and the status.
		within     = 40 * time.Second
		maxHistory = 2 << 20
	)
	namespace := stack.Namespace(t)
	stack.CreateJob(t, namespace, "busy", harness.JobSpec(harness.Parallelism(pods), harness.Completions(pods), harness.RunUntilEnded()))
	running := func(ctx context.Context) ([]corev1.Pod, error) {
		list, err := stack.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running", ResourceVersion: "0"})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	var all []corev1.Pod
	harness.Eventually(t, everyPod, func(ctx context.Context) (err error) {
		if all, err = running(ctx); err == nil && len(all) < pods {
			err = fmt.Errorf("%d Pods run", len(all))
		}
		return err
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second / endsASecond)
		defer ticker.Stop()
		for i := 0; i < len(all) && ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, node.AnnotationRunUntil)
			// One that was removed meanwhile is not there any more.
			_, _ = stack.Kubernetes.CoreV1().Pods(namespace).Patch(ctx, all[i].Name, types.MergePatchType, patch, metav1.PatchOptions{})
			<-ticker.C
		}
	}()
	defer func() { stop(); <-ended }()
	time.Sleep(10 * time.Second)

	before := historySize(t, namespace)
	began := time.Now()
	if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), "busy", types.MergePatchType, []byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, everyPod, func(ctx context.Context) error {
		job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, "busy", metav1.GetOptions{})
		if err == nil && (job.Status.Active > 0 || job.Status.StartTime != nil) {
			err = fmt.Errorf("%d active", job.Status.Active)
		}
		return err
	})
	took, size := time.Since(began).Round(100*time.Millisecond), historySize(t, namespace)
	t.Logf("suspend to active 0: %s; history %d bytes, %d before", took, size, before)
	// The workflow may have continued as new, with a history of its own.
	if grown := size - before; took > within || grown > maxHistory || grown < 0 && size > maxHistory {
		t.Errorf("suspend to active 0 in %s, history %d bytes and %d before; want %s, and %d more at most", took, size, before, within, maxHistory)
	}
}

func historySize(t *testing.T, namespace string) int64 {
	t.Helper()
	description, err := stack.Temporal.DescribeWorkflowExecution(t.Context(), harness.JobWorkflow(namespace, "busy"), "")
	if err != nil {
		t.Fatal(err)
	}
	return description.GetWorkflowExecutionInfo().GetHistorySizeBytes()
}
