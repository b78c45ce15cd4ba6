package takeover

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
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
	return without(t, "bridge", stack.Stack.KillBridge, stack.Stack.StartBridge)
}

// withoutWorker stops the worker, so that no workflow does anything; the result
// starts another.
func withoutWorker(t *testing.T) (start func()) {
	t.Helper()
	return without(t, "worker", stack.Stack.KillWorker, stack.Stack.StartWorker)
}

// without kills the one process of a kind; the result starts another, once, at the
// end of the test at the latest.
func without(t *testing.T, kind string, kill func(int) error, start func(context.Context) error) func() {
	t.Helper()
	if err := kill(0); err != nil {
		t.Fatal(err)
	}
	again := sync.OnceFunc(func() {
		if err := start(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("start the %s again: %v", kind, err)
		}
	})
	t.Cleanup(again)
	return again
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
