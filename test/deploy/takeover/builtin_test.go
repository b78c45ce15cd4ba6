package takeover

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/devstack/process"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// startBuiltIn runs a second kube-controller-manager, whose only controller is
// the job controller, as a cluster has it that was not prepared for take-over or
// goes back. The result stops it, which the end of the test does too.
func startBuiltIn(t *testing.T) (stop func()) {
	t.Helper()
	tools, err := toolchain.Ensure(t.Context(), t.Output(), "kube-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := stack.Stack.KubeconfigPath()
	manager, err := process.Start(t.Context(), process.Spec{
		Name: "kube-controller-manager", Path: tools["kube-controller-manager"],
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir=" + t.TempDir(),
			"--flex-volume-plugin-dir=" + t.TempDir(), "--leader-elect=false", "--controllers=job-controller",
		},
		LogFile: filepath.Join(stack.Dir, "logs", fmt.Sprintf("job-controller-%d.log", port)),
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		select {
		case <-manager.Done():
			return
		default:
		}
		if err := manager.Stop(10 * time.Second); err != nil {
			t.Errorf("stop the built-in controller: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// withoutBridge stops the bridge; the result starts another and waits until it leads.
func withoutBridge(t *testing.T) (start func()) {
	t.Helper()
	if err := stack.Stack.KillBridge(0); err != nil {
		t.Fatal(err)
	}
	started := false
	start = func() {
		if started {
			return
		}
		started = true
		if err := stack.Stack.StartBridge(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("start the bridge again: %v", err)
		}
	}
	t.Cleanup(start)
	return start
}

// withoutWorker stops the worker, so that no workflow does anything; the result
// starts another.
func withoutWorker(t *testing.T) (start func()) {
	t.Helper()
	if err := stack.Stack.KillWorker(0); err != nil {
		t.Fatal(err)
	}
	started := false
	start = func() {
		if started {
			return
		}
		started = true
		if err := stack.Stack.StartWorker(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("start the worker again: %v", err)
		}
	}
	t.Cleanup(start)
	return start
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
