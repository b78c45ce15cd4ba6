package namespaced

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
	"ostinato.dev/ostinato/test/stack/deploy/life"
)

func TestAWholeLifeInANamespaceServed(t *testing.T) {
	life.Whole(t, stack, shop)
}

// What is elsewhere is nobody's, though it names Ostinato.
func TestOtherNamespacesAreLeftAlone(t *testing.T) {
	elsewhere := stack.Namespace(t)
	stack.CreateJob(t, elsewhere, "unserved", harness.JobSpec())
	stack.CreateCronJob(t, harness.NewCronJob(elsewhere, "unserved", harness.Minutely, harness.JobSpec()))
	stack.CreateJob(t, billing, "served", harness.JobSpec())
	harness.Eventually(t, patience, func(ctx context.Context) error { return stack.JobHas(ctx, billing, "served", batchv1.JobComplete) })
	for _, id := range []string{harness.JobWorkflow(elsewhere, "unserved"), harness.CronJobWorkflow(elsewhere, "unserved")} {
		if status, err := stack.WorkflowStatus(t.Context(), id); err == nil {
			t.Errorf("workflow %s is %s", id, status)
		}
	}
	jobs, err := stack.Jobs(t.Context(), elsewhere)
	if err != nil || len(jobs) != 1 || jobs[0].Status.StartTime != nil {
		t.Errorf("Jobs %+v (%v), want the one that was created, untouched", jobs, err)
	}
}

// The same rights as everywhere else, in the namespaces served; none in another, but for the bridge's Events on its lease.
func TestRightsEndAtTheNamespaces(t *testing.T) {
	elsewhere := stack.Namespace(t)
	for account, requests := range map[string][]string{
		deployment.WorkerAccount: {
			"get cronjobs.batch.ostinato.dev", "patch cronjobs.batch.ostinato.dev", "update cronjobs.batch.ostinato.dev/status",
			"get jobs.batch", "create jobs.batch", "delete jobs.batch", "patch jobs.batch", "update jobs.batch/status", "patch jobs.batch/status",
			"get pods", "list pods", "watch pods", "create pods", "delete pods", "patch pods", "get pods/log", "create events",
		},
		deployment.BridgeAccount: {"list cronjobs.batch.ostinato.dev", "watch cronjobs.batch.ostinato.dev", "list jobs.batch", "watch jobs.batch", "create events"},
	} {
		client, err := deployment.Client(t.Context(), stack.Stack, account)
		if err != nil {
			t.Fatal(err)
		}
		for namespace, want := range map[string]bool{
			shop: true, billing: true, elsewhere: false, "default": false, "kube-system": false, deployment.SystemNamespace: false, metav1.NamespaceAll: false,
		} {
			for _, request := range requests {
				allowed, reason, err := deployment.May(t.Context(), client, namespace, request)
				if err != nil {
					t.Fatal(err)
				}
				onLease := account == deployment.BridgeAccount && namespace == deployment.SystemNamespace && request == "create events"
				if allowed != (want || onLease) {
					t.Errorf("%s may %s in %q: %t, want %t: %s", account, request, namespace, allowed, want || onLease, reason)
				}
			}
		}
	}
}

// With the worker's token by hand, there is no Pod that no Job controls.
func TestNoPodWithoutAJob(t *testing.T) {
	worker, err := deployment.Client(t.Context(), stack.Stack, deployment.WorkerAccount)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "made-by-hand-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox:1.28"}}},
	}
	// The policy takes the API server a moment to load.
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := worker.CoreV1().Pods(shop).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "only Pods that a Job controls") {
			return nil
		}
		return fmt.Errorf("not refused, but answered with: %v", err)
	})
	if _, err := worker.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a Pod in another namespace: %v", err)
	}
}
