// Package access runs the whole stack with a Temporal that asks the API server who may call it, under exactly the rights that
// deploy/components/temporal-access gives it.
package access

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/access/door"
)

var (
	stack *harness.Harness
	// people come to the stack's Temporal.
	people door.Door
)

func TestMain(m *testing.M) {
	options := devstack.Options{
		Node: devstack.NodeKwok, Temporal: devstack.TemporalGuarded, TemporalAccess: rights,
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) {
		stack, people = h, door.Door{Kubernetes: h.Kubernetes, Plane: h.Stack.ControlPlane, Address: h.Stack.TemporalAddress()}
	}))
}

// rights gives the Temporal server those of its component, and returns the kubeconfig of its service account.
func rights(ctx context.Context, stack *devstack.Stack) (string, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return "", err
	}
	component := filepath.Join(root, "deploy", "components", "temporal-access")
	_, err = stack.Kubectl(ctx, "apply", "--filename="+filepath.Join(component, "rbac.yaml"), "--filename="+filepath.Join(component, "users.yaml"))
	if err != nil {
		return "", err
	}
	return stack.ControlPlane.KubeconfigForServiceAccount(ctx, manifests.SystemNamespace, "ostinato-temporal")
}
