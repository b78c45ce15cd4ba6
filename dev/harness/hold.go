package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/devstack/node"
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

// End waits until as many Pods of a Job run as it is told, and lets them end. It counts Pods that RunUntilEnded keeps, and none whose end
// was asked for before.
func (h *Harness) End(t *testing.T, namespace, job string, running int) {
	t.Helper()
	var kept []corev1.Pod
	Eventually(t, Bulk, func(ctx context.Context) error {
		pods, err := h.PodsOf(ctx, namespace, job)
		if err != nil {
			return fmt.Errorf("list the Pods of Job %s: %w", job, err)
		}
		kept = slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
			return pod.Status.Phase != corev1.PodRunning || pod.Annotations[node.AnnotationRunUntil] == ""
		})
		if len(kept) != running {
			return fmt.Errorf("%d Pods of Job %s run, want %d", len(kept), job, running)
		}
		return nil
	})
	for _, pod := range kept {
		h.letEnd(t, &pod, node.AnnotationRunUntil)
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
