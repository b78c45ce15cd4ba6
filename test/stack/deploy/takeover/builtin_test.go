package takeover

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// startBuiltIn runs a second kube-controller-manager, whose only controller is
// the job controller, as a cluster has it that was not prepared for take-over or
// goes back. The result stops it, which the end of the test does too.
func startBuiltIn(t *testing.T) (stop func()) {
	t.Helper()
	return deployment.StartController(t, stack.Stack, stack.Dir, "job-controller")
}

// withoutBridge stops the bridge; the result starts another and waits until it leads.
func withoutBridge(t *testing.T) (start func()) {
	t.Helper()
	return deployment.Without(t, "bridge", stack.Stack.KillBridge, stack.Stack.StartBridge)
}

// withoutWorker stops the worker, so that no workflow does anything; the result
// starts another.
func withoutWorker(t *testing.T) (start func()) {
	t.Helper()
	return deployment.Without(t, "worker", stack.Stack.KillWorker, stack.Stack.StartWorker)
}

// writers returns who wrote the Job's status, for messages.
func writers(fields []metav1.ManagedFieldsEntry) []string {
	var names []string
	for _, entry := range fields {
		if entry.Subresource == "status" {
			names = append(names, entry.Manager)
		}
	}
	return names
}
