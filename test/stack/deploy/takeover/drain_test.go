package takeover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/dev/harness"
)

// handOver is twice what it takes until a bridge that takes over the lease of a killed
// one has ended the workflow of a Job that is drained.
const handOver = 2 * harness.LeaseTakeOver

// A Pod that is counted and not released yet would be counted again by the built-in
// controller: the workflow is ended only when the release that the API server refused
// was let through.
func TestAJobIsDrainedBeforeItIsHandedBack(t *testing.T) {
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	create(t, namespace, "drained", harness.Indexed(2), harness.HoldIndex(1), harness.RunUntilEnded())
	podsRun(t, namespace, "drained", 2)
	letGo := keepFinalizers(t, namespace, "drained")
	stack.End(t, namespace, "drained", 2)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if status := get(t, namespace, "drained").Status; status.Succeeded != 1 {
			return fmt.Errorf("status %+v, want one Pod counted", status)
		}
		return nil
	})
	startBridge := withoutBridge(t)
	stopBridge := bridgeWithoutTheFlag(t)
	harness.Always(t, handOver, func(ctx context.Context) error {
		return hasStatus(ctx, namespace, "drained", enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	})
	letGo()
	workflowIs(t, namespace, "drained", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED)
	stopBridge()
	stopBuiltIn := startBuiltIn(t)
	stack.LetGo(t, namespace, "drained", 1)
	jobIs(t, namespace, "drained", batchv1.JobComplete)
	stopBuiltIn()
	startBridge()
	counted(t, namespace, "drained", 2, record)
}

// keepFinalizers makes the API server refuse that a Pod of the namespace loses a
// finalizer, until it is let go. It returns when it does so for those of the Job.
func keepFinalizers(t *testing.T, namespace, job string) (letGo func()) {
	t.Helper()
	policies := stack.Kubernetes.AdmissionregistrationV1()
	name := "keep-finalizers-" + namespace
	fail := admissionv1.Fail
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}}},
			Validations: []admissionv1.Validation{{
				Expression: "!has(oldObject.metadata.finalizers) || has(object.metadata.finalizers)", Message: "finalizers are kept for a while",
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources:    &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	letGo = func() {
		once.Do(func() {
			err := policies.ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
			if err := errors.Join(err, policies.ValidatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{})); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(letGo)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		pods, err := stack.PodsOf(ctx, namespace, job)
		if err != nil || len(pods) == 0 {
			return fmt.Errorf("no Pod to try it on: %w", err)
		}
		_, err = stack.Kubernetes.CoreV1().Pods(namespace).Patch(ctx, pods[0].Name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("the API server still lets a finalizer go")
		}
		return nil
	})
	return letGo
}
