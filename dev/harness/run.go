package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// AddCronJob creates a CronJob and waits until its workflow has taken it over.
func (h *Harness) AddCronJob(t *testing.T, cronJob *ostinatov1.CronJob) *ostinatov1.CronJob {
	t.Helper()
	created := h.CreateCronJob(t, cronJob)
	Eventually(t, Prompt, func(ctx context.Context) error { return h.Observed(ctx, created.Namespace, created.Name) })
	return created
}

// Observed returns nil when the workflow has taken the CronJob's newest generation.
func (h *Harness) Observed(ctx context.Context, namespace, name string) error {
	cronJob, err := h.CronJob(ctx, namespace, name)
	if err != nil {
		return err
	}
	if cronJob.Status.ObservedGeneration != cronJob.Generation {
		return fmt.Errorf("CronJob %s: generation %d of %d is observed", name, cronJob.Status.ObservedGeneration, cronJob.Generation)
	}
	return nil
}

// Trigger starts a run by signal and waits for its Job, whose name it returns.
func (h *Harness) Trigger(t *testing.T, namespace, name string) string {
	t.Helper()
	before := map[string]bool{}
	jobs, err := h.Jobs(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		before[job.Name] = true
	}
	h.Signal(t, CronJobWorkflow(namespace, name), protocol.TriggerSignal, nil)
	var started string
	Eventually(t, Prompt, func(ctx context.Context) error {
		jobs, err := h.Jobs(ctx, namespace)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			owner := metav1.GetControllerOf(&job)
			if !before[job.Name] && owner != nil && owner.Name == name && job.Annotations[names.InstantiateAnnotation] != "" {
				started = job.Name
				return nil
			}
		}
		return fmt.Errorf("the trigger of %s made no Job", name)
	})
	return started
}

// wholeSecond is the precision of times in Kubernetes.
const wholeSecond = time.Second

// NextSecond waits until another second has begun. Start times are whole seconds,
// and of two equal ones the name decides which run a history limit keeps (parity 1.8).
func NextSecond(t *testing.T) {
	t.Helper()
	begin := time.Now().Unix()
	Eventually(t, wholeSecond+Slack, func(context.Context) error {
		if time.Now().Unix() <= begin {
			return errors.New("it is the same second")
		}
		return nil
	})
}

// PodsOf lists the Pods of a Job.
func (h *Harness) PodsOf(ctx context.Context, namespace, job string) ([]corev1.Pod, error) {
	list, err := h.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// PodsAre returns nil when exactly so many Pods of the Job are in the phase.
func (h *Harness) PodsAre(ctx context.Context, namespace, job string, phase corev1.PodPhase, want int) error {
	pods, err := h.PodsOf(ctx, namespace, job)
	if err != nil {
		return err
	}
	count := 0
	for _, pod := range pods {
		if pod.Status.Phase == phase {
			count++
		}
	}
	if count != want {
		return fmt.Errorf("%d of %d Pods of %s are %s, want %d", count, len(pods), job, phase, want)
	}
	return nil
}

// NamespaceGone returns nil when the namespace does not exist, else why it is
// still there.
func (h *Harness) NamespaceGone(ctx context.Context, name string) error {
	namespace, err := h.Kubernetes.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var why []string
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			why = append(why, condition.Message)
		}
	}
	pods, err := h.Pods(ctx, name)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		why = append(why, fmt.Sprintf("Pod %s is %s, its finalizers are %v, its labels %v.", pod.Name, pod.Status.Phase, pod.Finalizers, pod.Labels))
	}
	return fmt.Errorf("namespace %s is %s: %s", name, namespace.Status.Phase, strings.Join(why, " "))
}

// Workers returns the workers that run, in the order of their numbers.
func (h *Harness) Workers() []*process.Process { return h.named("worker-") }

// Bridges returns the bridges that run, in the order of their numbers.
func (h *Harness) Bridges() []*process.Process { return h.named("bridge-") }

// ReviveBridge does what the kubelet does when the bridge ended, which it does by itself when it could not renew its lease: it
// starts a bridge where none runs.
func (h *Harness) ReviveBridge(ctx context.Context) error {
	for n, bridge := range h.Bridges() {
		select {
		case <-bridge.Done():
			if err := h.Stack.KillBridge(n); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return h.Stack.StartBridge(ctx)
}

func (h *Harness) named(prefix string) []*process.Process {
	var found []*process.Process
	for _, member := range h.Stack.Processes() {
		if strings.HasPrefix(member.Name(), prefix) {
			found = append(found, member)
		}
	}
	return found
}

// PodWatchHolder returns the number of the worker that runs the PodWatch
// activity of the only shard.
func (h *Harness) PodWatchHolder(ctx context.Context) (int, error) {
	id := names.Cluster("").PodWatchWorkflowID(0, 1)
	description, err := h.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return 0, err
	}
	pending := description.GetPendingActivities()
	if len(pending) == 0 {
		return 0, fmt.Errorf("workflow %s has no activity", id)
	}
	activity := pending[0]
	for n, worker := range h.Workers() {
		if strings.HasPrefix(activity.GetLastWorkerIdentity(), fmt.Sprintf("%d@", worker.PID())) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s runs on %q, state %s, which is none of the workers", activity.GetActivityType().GetName(), activity.GetLastWorkerIdentity(), activity.GetState())
}
