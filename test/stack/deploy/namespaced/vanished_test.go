package namespaced

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
)

// givenUp is longer than a first list of Pods may take until its namespace is given up.
const givenUp = 90 * time.Second

// A namespace that is deleted takes the RoleBindings of worker and bridge along. Those that run serve the others, and so do
// those that start later, which can't list the namespace even once. When it is back with its RoleBindings, they serve it too.
func TestADeletedNamespaceHoldsUpNoOther(t *testing.T) {
	completes := func(namespace, name string) {
		t.Helper()
		stack.CreateJob(t, namespace, name, harness.JobSpec())
		harness.Eventually(t, harness.AfterOutage, func(ctx context.Context) error {
			return stack.JobHas(ctx, namespace, name, batchv1.JobComplete)
		})
	}
	completes(leaving, "before")
	if err := stack.Kubernetes.CoreV1().Namespaces().Delete(t.Context(), leaving, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.NamespaceRemoved, func(ctx context.Context) error { return stack.NamespaceGone(ctx, leaving) })
	completes(shop, "after-the-deletion")

	if err := stack.Stack.RestartWorker(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := stack.Stack.KillBridge(0); err != nil {
		t.Fatal(err)
	}
	if err := stack.Stack.StartBridge(t.Context()); err != nil {
		t.Fatal(err)
	}
	completes(shop, "after-the-roll-out")
	stack.AddCronJob(t, harness.NewCronJob(shop, "after-the-roll-out", harness.Yearly, harness.JobSpec()))
	time.Sleep(givenUp)
	completes(shop, "after-it-was-given-up")

	if _, _, _, err := manifests.Install(t.Context(), stack.Stack, installation); err != nil {
		t.Fatal(err)
	}
	completes(leaving, "after-it-is-back")
	stack.AddCronJob(t, harness.NewCronJob(leaving, "after-it-is-back", harness.Yearly, harness.JobSpec()))
}
