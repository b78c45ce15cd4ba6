package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// NamespacesVanish waits until every namespace that was deleted is gone, with
// all that was in it: a Pod that nobody releases would hold its namespace for
// ever. It is for Main, after the tests.
func NamespacesVanish(ctx context.Context, h *Harness) error {
	var last error
	note := func(ctx context.Context, err error) {
		if ctx.Err() == nil {
			last = err
		}
	}
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := h.Kubernetes.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			note(ctx, err)
			return false, nil
		}
		leaving := slices.IndexFunc(list.Items, func(namespace corev1.Namespace) bool { return namespace.DeletionTimestamp != nil })
		if leaving < 0 {
			return true, nil
		}
		note(ctx, h.NamespaceGone(ctx, list.Items[leaving].Name))
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("deleted namespaces stay: %w", errors.Join(last, err))
	}
	return nil
}
