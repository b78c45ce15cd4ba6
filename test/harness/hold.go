package harness

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/devstack/node"
)

// LetGo lets the Pods of a Job that HoldIndex holds end.
func (h *Harness) LetGo(t *testing.T, namespace, job string, index int) {
	t.Helper()
	selector := fmt.Sprintf("%s=%s,%s=%d", batchv1.JobNameLabel, job, batchv1.JobCompletionIndexAnnotation, index)
	held, err := h.Kubernetes.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatalf("list the held Pods of Job %s: %v", job, err)
	}
	if len(held.Items) == 0 {
		t.Fatalf("Job %s has no Pod of index %d", job, index)
	}
	for _, pod := range held.Items {
		h.letEnd(t, &pod, node.AnnotationHoldIndex)
	}
}

// End waits until so many Pods of a Job run, and lets them end: those that RunUntilEnded keeps.
func (h *Harness) End(t *testing.T, namespace, job string, running int) {
	t.Helper()
	Eventually(t, Bulk, func(ctx context.Context) error { return h.PodsAre(ctx, namespace, job, corev1.PodRunning, running) })
	pods, err := h.PodsOf(t.Context(), namespace, job)
	if err != nil {
		t.Fatalf("list the Pods of Job %s: %v", job, err)
	}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			h.letEnd(t, &pod, node.AnnotationRunUntil)
		}
	}
}

// letEnd takes from a Pod the annotation that keeps it running.
func (h *Harness) letEnd(t *testing.T, pod *corev1.Pod, annotation string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, annotation)
	if _, err := h.Kubernetes.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatalf("let Pod %s end: %v", pod.Name, err)
	}
}
