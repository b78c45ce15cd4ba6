//go:build trial

package slow

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/harness"
)

// everyPod bounds how long 10,000 Pods take to start, or to go, on a machine of two cores.
const everyPod = 10 * time.Minute

// pods is how many the Job has.
const pods = 10_000

// A Job of 10,000 Pods whose Pods end all the time is suspended: while its Pods are listed, facts come. What the API server,
// etcd and the node take for the two writes that each Pod needs bounds it on a small machine, and is measured first.
func TestABusyJobIsSuspended(t *testing.T) {
	const (
		endsASecond = 3
		aim         = 15 * time.Second
		maxHistory  = 2 << 20
	)
	writes := removeByHand(t)
	within := max(aim, writes+writes/4)
	namespace := stack.Namespace(t)
	stack.CreateJob(t, namespace, "busy", harness.JobSpec(harness.Parallelism(pods), harness.Completions(pods), harness.RunUntilEnded()))
	all := allRun(t, namespace)
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
	took, sizes := time.Since(began).Round(100*time.Millisecond), historySizes(t, namespace)
	t.Logf("suspend to active 0: %s, %.2f of the two writes for each Pod by themselves (%s); histories of %d bytes",
		took, took.Seconds()/writes.Seconds(), writes, sizes)
	if len(sizes) == 0 || took > within || slices.Max(sizes) > maxHistory {
		t.Errorf("suspend to active 0 in %s, histories of %d bytes; want %s, and %d bytes at most", took, sizes, within, maxHistory)
	}
}

// allRun waits until all Pods of a namespace run.
func allRun(t *testing.T, namespace string) (all []corev1.Pod) {
	t.Helper()
	harness.Eventually(t, everyPod, func(ctx context.Context) error {
		list, err := stack.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running", ResourceVersion: "0"})
		if err != nil {
			return err
		}
		if all = list.Items; len(all) < pods {
			return fmt.Errorf("%d Pods run", len(all))
		}
		return nil
	})
	return all
}

// removeByHand makes as many Pods, of a Job that nobody manages, and measures how long it takes to take a finalizer off each
// and to delete it, with as many requests at a time as an activity has.
func removeByHand(t *testing.T) time.Duration {
	t.Helper()
	const (
		atATime   = 32
		finalizer = "example.com/by-hand"
	)
	namespace := stack.Namespace(t)
	client := stack.Kubernetes.CoreV1().Pods(namespace)
	each := func(what string, do func(i int) error) {
		var group errgroup.Group
		group.SetLimit(atATime)
		for i := range pods {
			group.Go(func() error { return do(i) })
		}
		if err := group.Wait(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	spec := harness.JobSpec(harness.RunUntilEnded())
	spec.Suspend, spec.ManagedBy = new(true), new("example.com/by-hand")
	owner, err := stack.Kubernetes.BatchV1().Jobs(namespace).Create(t.Context(),
		&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	template := owner.Spec.Template
	each("create", func(i int) error {
		pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		pod.Name, pod.Finalizers = fmt.Sprintf("by-hand-%d", i), []string{finalizer}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
		_, err := client.Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	all := allRun(t, namespace)
	began := time.Now()
	patch := fmt.Appendf(nil, `{"metadata":{"$deleteFromPrimitiveList/finalizers":[%q]}}`, finalizer)
	each("remove", func(i int) error {
		if _, err := client.Patch(t.Context(), all[i].Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
		return client.Delete(t.Context(), all[i].Name, metav1.DeleteOptions{})
	})
	return time.Since(began).Round(100 * time.Millisecond)
}

// historySizes returns the sizes of the histories of the Job's workflow, in bytes, the newest first.
func historySizes(t *testing.T, namespace string) (sizes []int64) {
	t.Helper()
	list, err := stack.Temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowId = %q", harness.JobWorkflow(namespace, "busy")),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, execution := range list.GetExecutions() {
		description, err := stack.Temporal.DescribeWorkflowExecution(t.Context(), execution.GetExecution().GetWorkflowId(), execution.GetExecution().GetRunId())
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, description.GetWorkflowExecutionInfo().GetHistorySizeBytes())
	}
	return sizes
}
