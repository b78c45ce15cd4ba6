package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// builtInStart bounds the start of a kube-controller-manager.
const builtInStart = 2 * harness.Slack

// With the built-in controller running, a bridge of exactly the manifests' access
// refuses, and leaves no probe behind.
func TestRefusesBesideTheBuiltInController(t *testing.T) {
	startBuiltIn(t)
	var output string
	harness.Eventually(t, builtInStart+harness.ProbeWait+harness.Slack, func(ctx context.Context) error {
		var code int
		var err error
		output, code, err = deployment.RunBridge(ctx, stack.Stack, bridgeKubeconfig, "--takeover=jobs", "--lease-namespace=another")
		if err == nil && code != 1 {
			err = fmt.Errorf("the bridge ended with %d: %s", code, output)
		}
		return err
	})
	if !strings.Contains(output, "kube-controller-manager gave Job") || strings.Contains(strings.ToLower(output), "forbidden") {
		t.Errorf("the bridge says:\n%s", output)
	}
	probes, err := deployment.Probes(t.Context(), stack.Stack)
	if err != nil || probes != "" {
		t.Errorf("probes are left: %s %v", probes, err)
	}
}

// A second bridge that takes over beside the one that leads finds nobody else: its
// probe is nobody's to the first.
func TestASecondBridgeStandsBy(t *testing.T) {
	if err := stack.Stack.StartBridge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stack.Stack.KillBridge(1); err != nil {
		t.Fatal(err)
	}
}

// begun makes a Job with two Pods that have succeeded and two that run.
func begun(t *testing.T, namespace, name string, completions int32) {
	t.Helper()
	create(t, namespace, name, harness.Completions(completions), harness.Parallelism(2), harness.RunUntilEnded())
	succeeded(t, namespace, name, 2)
}

// succeeded ends the two running Pods. It waits until want Pods are counted and released, and two others are active. A hand-over
// drains a Job first, because kube-controller-manager counts a tracked Pod again.
func succeeded(t *testing.T, namespace, name string, want int32) {
	t.Helper()
	stack.End(t, namespace, name, 2)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if status := get(t, namespace, name).Status; status.Succeeded != want || status.Active != 2 {
			return fmt.Errorf("status %+v, want %d Pods succeeded and two active", status, want)
		}
		pods, err := stack.PodsOf(ctx, namespace, name)
		if err == nil && slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded && harness.Tracked(&pod) }) {
			err = fmt.Errorf("a Pod that has succeeded is still tracked")
		}
		return err
	})
}

// counted checks that a Job is complete with exactly its Pods, and that none is
// held by the tracking finalizer.
func counted(t *testing.T, namespace, name string, want int, record *harness.Record) {
	t.Helper()
	jobIs(t, namespace, name, batchv1.JobComplete)
	job := get(t, namespace, name)
	uncounted := job.Status.UncountedTerminatedPods
	if int(job.Status.Succeeded) != want || job.Status.Failed != 0 || job.Status.Active != 0 || uncounted != nil && len(uncounted.Succeeded)+len(uncounted.Failed) > 0 {
		t.Errorf("status %+v by %v", job.Status, writers(job.ManagedFields))
	}
	if pods := record.Pods(name); len(pods) != want {
		t.Errorf("the Job has had %d Pods, want %d", len(pods), want)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, name)
		if err == nil && slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return harness.Tracked(&pod) }) {
			err = fmt.Errorf("a Pod of the finished Job is still tracked")
		}
		return err
	})
	harness.Eventually(t, patience, func(ctx context.Context) error {
		status, err := stack.WorkflowStatus(ctx, harness.JobWorkflow(namespace, name))
		if err == nil && status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
			err = fmt.Errorf("the workflow of %s runs still", name)
		}
		return err
	})
}

// A Job that the built-in controller has begun is ended by Ostinato, and the other
// way round; every Pod counts once.
func TestJobsChangeHands(t *testing.T) {
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)

	t.Run("to Ostinato", func(t *testing.T) {
		startBridge := withoutBridge(t)
		stopBuiltIn := startBuiltIn(t)
		begun(t, namespace, "to-us", 4)
		stopBuiltIn()
		stack.End(t, namespace, "to-us", 2)
		startBridge()
		counted(t, namespace, "to-us", 4, record)
	})

	// The built-in controller died between the two writes by which it counts a Pod:
	// the Pod is in status as not yet counted, and may be gone by now.
	t.Run("to Ostinato in the middle of a count", func(t *testing.T) {
		startBridge := withoutBridge(t)
		stopBuiltIn := startBuiltIn(t)
		create(t, namespace, "half-counted", harness.Completions(4), harness.Parallelism(4), harness.RunUntilEnded())
		podsRun(t, namespace, "half-counted", 4)
		stopBuiltIn()
		stack.End(t, namespace, "half-counted", 4)
		harness.Eventually(t, patience, func(ctx context.Context) error {
			return stack.PodsAre(ctx, namespace, "half-counted", corev1.PodSucceeded, 4)
		})
		pods, err := stack.PodsOf(t.Context(), namespace, "half-counted")
		if err != nil {
			t.Fatal(err)
		}
		status := fmt.Appendf(nil, `{"status":{"active":2,"ready":0,"uncountedTerminatedPods":{"succeeded":[%q,%q]}}}`, pods[0].UID, pods[1].UID)
		if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), "half-counted", types.MergePatchType, status,
			metav1.PatchOptions{FieldManager: "kube-controller-manager"}, "status"); err != nil {
			t.Fatal(err)
		}
		// One of the two is released already, as the built-in controller does next.
		if _, err := stack.Stack.Kubectl(t.Context(), "patch", "pod", "--namespace="+namespace, pods[0].Name, "--type=merge", `--patch={"metadata":{"finalizers":null}}`); err != nil {
			t.Fatal(err)
		}
		startBridge()
		counted(t, namespace, "half-counted", 4, record)
	})

	t.Run("back", func(t *testing.T) {
		begun(t, namespace, "back", 4)
		startBridge, startWorker := withoutBridge(t), withoutWorker(t)
		stopBuiltIn := startBuiltIn(t)
		stack.End(t, namespace, "back", 2)
		jobIs(t, namespace, "back", batchv1.JobComplete)
		stopBuiltIn()
		startWorker()
		startBridge()
		counted(t, namespace, "back", 4, record)
	})

	// The workflow slept while the built-in controller went on with the Job.
	t.Run("back and to Ostinato again", func(t *testing.T) {
		begun(t, namespace, "to-and-fro", 6)
		startBridge, startWorker := withoutBridge(t), withoutWorker(t)
		stopBuiltIn := startBuiltIn(t)
		succeeded(t, namespace, "to-and-fro", 4)
		stopBuiltIn()
		startWorker()
		startBridge()
		stack.End(t, namespace, "to-and-fro", 2)
		counted(t, namespace, "to-and-fro", 6, record)
	})

	// While the workflow slept the built-in controller has made Pods and counted them, and
	// of others as many have ended: no counter of the workflow's is less than that of the
	// status.
	t.Run("back for longer and to Ostinato again", func(t *testing.T) {
		begun(t, namespace, "long-away", 8)
		startBridge, startWorker := withoutBridge(t), withoutWorker(t)
		stopBuiltIn := startBuiltIn(t)
		succeeded(t, namespace, "long-away", 4)
		succeeded(t, namespace, "long-away", 6)
		stopBuiltIn()
		stack.End(t, namespace, "long-away", 2)
		harness.Eventually(t, patience, func(ctx context.Context) error {
			return stack.PodsAre(ctx, namespace, "long-away", corev1.PodSucceeded, 8)
		})
		startWorker()
		startBridge()
		counted(t, namespace, "long-away", 8, record)
	})

	// Where the flag is dropped, the next bridge ends the workflows and touches nothing
	// else: the Job is the built-in controller's to go on with.
	t.Run("back by the flag", func(t *testing.T) {
		create(t, namespace, "given-up", harness.Completions(2), harness.Parallelism(2), harness.RunUntilEnded())
		podsRun(t, namespace, "given-up", 2)
		startBridge := withoutBridge(t)
		stopBridge := bridgeWithoutTheFlag(t)
		workflowIs(t, namespace, "given-up", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED)
		stopBridge()
		pods, err := stack.PodsOf(t.Context(), namespace, "given-up")
		if err != nil || len(pods) != 2 || !harness.Tracked(&pods[0]) || !harness.Tracked(&pods[1]) {
			t.Errorf("Pods %+v, want two that are tracked: %v", pods, err)
		}
		stopBuiltIn := startBuiltIn(t)
		stack.End(t, namespace, "given-up", 2)
		jobIs(t, namespace, "given-up", batchv1.JobComplete)
		stopBuiltIn()
		startBridge()
		counted(t, namespace, "given-up", 2, record)
	})
}

// bridgeWithoutTheFlag runs a bridge that does not take over.
func bridgeWithoutTheFlag(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := deployment.RunBridge(ctx, stack.Stack, bridgeKubeconfig, harness.ShortLease()...)
		ended <- err
	}()
	return func() {
		cancel()
		<-ended
	}
}

func hasStatus(ctx context.Context, namespace, job string, want enums.WorkflowExecutionStatus) error {
	status, err := stack.WorkflowStatus(ctx, harness.JobWorkflow(namespace, job))
	if err == nil && status != want {
		err = fmt.Errorf("the workflow of %s is %s, not %s", job, status, want)
	}
	return err
}

func workflowIs(t *testing.T, namespace, job string, want enums.WorkflowExecutionStatus) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error { return hasStatus(ctx, namespace, job, want) })
}
