package parity

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
)

// refusedPodCases are about Jobs that the API server takes and whose Pods it does not.
var refusedPodCases = []testCase{
	newCase("refused-by-quota", endless(harness.Parallelism(2)),
		running(1).lasting(2*time.Second).then(quota(5)), running(2).then(succeed(eachPod)), finished(batchv1.JobComplete)).
		prepared(withQuota(1)).onItsOwn(),
	newCase("refused-by-quota-indexed", endless(harness.Indexed(3)),
		running(1).lasting(2*time.Second).then(quota(5)), running(3).then(succeed(eachPod)), finished(batchv1.JobComplete)).
		prepared(withQuota(1)).onItsOwn(),
	newCase("refused-then-deleted", endless(), waiting().lasting(2*time.Second).then(deleteJob(metav1.DeletePropagationBackground)), gone(0)).
		prepared(withQuota(0)).onItsOwn(),
	newCase("refused-then-suspended", endless(),
		waiting().lasting(2*time.Second).then(suspend(true)), suspendedNow().then(quota(5), suspend(false)), running(1)).
		prepared(withQuota(0)).onItsOwn(),
	newCase("refused-for-its-service-account", endless(harness.BackoffLimit(0),
		template(func(spec *corev1.PodSpec) { spec.ServiceAccountName = "late" })),
		waiting().and(podsAre(0)).lasting(2*time.Second).then(createServiceAccount("late")), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)),
	newCase("refused-until-its-deadline", endless(harness.ActiveDeadline(8), harness.BackoffLimit(0),
		template(func(spec *corev1.PodSpec) { spec.PriorityClassName = "of-nobody" })),
		waiting().and(podsAre(0)), finished(batchv1.JobFailed).and(made(0), failures(0))),
	newCase("refused-for-its-security", endless(),
		waiting().and(podsAre(0)).lasting(2*time.Second).then(enforce("privileged")), running(1).then(succeed(onePod)), finished(batchv1.JobComplete)).
		prepared(restricted).onItsOwn(),
}

func template(change func(*corev1.PodSpec)) harness.JobOption {
	return func(spec *batchv1.JobSpec) { change(&spec.Template.Spec) }
}

func hardPods(count int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(count), resource.DecimalSI)}
}

// withQuota lets the namespace have so many Pods.
func withQuota(count int) func(*testing.T, *ground, string) {
	return func(t *testing.T, on *ground, _ string) {
		t.Helper()
		stack.AddQuota(t, on.namespace, "few", hardPods(count))
	}
}

// quota changes how many Pods the namespace may have.
func quota(count int) act {
	return func(ctx context.Context, s subject) error {
		_, err := stack.Kubernetes.CoreV1().ResourceQuotas(s.namespace).Patch(ctx, "few", types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"hard":{"pods":"%d"}}}`, count), metav1.PatchOptions{})
		return err
	}
}

func createServiceAccount(name string) act {
	return func(ctx context.Context, s subject) error {
		_, err := stack.Kubernetes.CoreV1().ServiceAccounts(s.namespace).Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
}

// enforce sets the namespace's pod security standard.
func enforce(level string) act {
	return func(ctx context.Context, s subject) error {
		_, err := stack.Kubernetes.CoreV1().Namespaces().Patch(ctx, s.namespace, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%q}}}`, level), metav1.PatchOptions{})
		return err
	}
}

// restricted refuses Pods that are not hardened.
func restricted(t *testing.T, on *ground, name string) {
	t.Helper()
	if err := enforce("restricted")(t.Context(), on.subject(name, nil, nil)); err != nil {
		t.Fatal(err)
	}
}
