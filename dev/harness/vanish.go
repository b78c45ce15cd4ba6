package harness

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// vanishInterval is how often the namespaces are listed: all of them, with many Pods.
const vanishInterval = 250 * time.Millisecond

// NamespacesVanish waits until every namespace that was deleted is gone, with
// all that was in it: a Pod that nobody releases would hold its namespace for
// ever. It is for Main, after the tests.
func NamespacesVanish(ctx context.Context, h *Harness) error {
	err := Poll(ctx, vanishInterval, NamespaceRemoved, func(ctx context.Context) error {
		list, err := h.Kubernetes.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		leaving := slices.IndexFunc(list.Items, func(namespace corev1.Namespace) bool { return namespace.DeletionTimestamp != nil })
		if leaving < 0 {
			return nil
		}
		return h.NamespaceGone(ctx, list.Items[leaving].Name)
	})
	if err != nil {
		return fmt.Errorf("deleted namespaces stay: %w", err)
	}
	return nil
}
