package deployment

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// StartController runs one more kube-controller-manager on the stack, with a single
// controller. Its log is in the stack's folder. The result stops it, which the end of
// the test does too.
func StartController(t *testing.T, stack *devstack.Stack, dir, controller string) (stop func()) {
	t.Helper()
	tools, err := toolchain.Ensure(t.Context(), t.Output(), "kube-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := stack.KubeconfigPath()
	manager, err := process.Start(t.Context(), process.Spec{
		Name: "kube-controller-manager", Path: tools["kube-controller-manager"],
		Args: []string{
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir=" + t.TempDir(),
			"--flex-volume-plugin-dir=" + t.TempDir(), "--leader-elect=false", "--controllers=" + controller,
		},
		LogFile: filepath.Join(dir, "logs", fmt.Sprintf("%s-%d.log", controller, port)),
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
			t.Errorf("stop the built-in %s: %v", controller, err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Without kills the one process of a kind; the result starts another, once, at the end
// of the test at the latest.
func Without(t *testing.T, kind string, kill func(int) error, start func(context.Context) error) func() {
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
