package harness

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// secrets is limited to none by every quota of AddQuota.
const secrets corev1.ResourceName = "count/secrets"

// AddQuota limits what the namespace may have, and returns when the API server enforces it. The quota's own status comes
// earlier: admission reads it by a watch. So the quota allows no Secrets either, and one is tried.
func (h *Harness) AddQuota(t *testing.T, namespace, name string, hard corev1.ResourceList) {
	t.Helper()
	limits := maps.Clone(hard)
	limits[secrets] = *resource.NewQuantity(0, resource.DecimalSI)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ResourceQuotaSpec{Hard: limits}}
	if _, err := h.Kubernetes.CoreV1().ResourceQuotas(namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create quota %s/%s: %v", namespace, name, err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one-too-many"}}
	Eventually(t, Prompt, func(ctx context.Context) error {
		_, err := h.Kubernetes.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "exceeded quota: "+name) {
			return fmt.Errorf("quota %s/%s is not enforced: %v", namespace, name, err)
		}
		return nil
	})
}
