package deployment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ErrNotChecked means that kube-controller-manager has not looked at a policy yet.
var ErrNotChecked = errors.New("the policy's types are not checked yet")

// WellTyped returns what Kubernetes has to say against the expressions of an admission
// policy, which it checks against the kinds that they are about.
func WellTyped(ctx context.Context, client kubernetes.Interface, policy string) error {
	found, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, policy, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get ValidatingAdmissionPolicy %s: %w", policy, err)
	}
	if found.Status.ObservedGeneration < found.Generation || found.Status.TypeChecking == nil {
		return fmt.Errorf("%s: %w", policy, ErrNotChecked)
	}
	var warnings []string
	for _, warning := range found.Status.TypeChecking.ExpressionWarnings {
		warnings = append(warnings, warning.FieldRef+": "+warning.Warning)
	}
	if len(warnings) > 0 {
		return fmt.Errorf("policy %s: %s", policy, strings.Join(warnings, "\n"))
	}
	return nil
}
