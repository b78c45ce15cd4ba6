// Package deploy tests what is deployed: the CRD and the manifests on a real API
// server, and worker and bridge under exactly the access that the manifests give.
package deploy

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/test/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	options := devstack.Options{
		// With this plugin, which some distributions turn on, owner references that
		// block deletion need the right to set the owner's finalizers.
		APIServerFlags: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		Access:         install,
		BridgeArgs:     []string{"--lease-namespace=" + systemNamespace},
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

// systemNamespace is where the manifests put worker and bridge.
const systemNamespace = "ostinato-system"

// The service accounts of worker and bridge.
const (
	workerAccount = "ostinato-worker"
	bridgeAccount = "ostinato-bridge"
)

// install applies the manifests and returns kubeconfigs of their service accounts.
func install(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
	rendered, err := render(ctx, overlay)
	if err != nil {
		return "", "", err
	}
	if installOutput, err = apply(ctx, stack, rendered); err != nil {
		return "", "", err
	}
	if worker, err = stack.ControlPlane.KubeconfigForServiceAccount(ctx, systemNamespace, workerAccount); err != nil {
		return "", "", err
	}
	bridge, err = stack.ControlPlane.KubeconfigForServiceAccount(ctx, systemNamespace, bridgeAccount)
	return worker, bridge, err
}

// installOutput is what kubectl said when the manifests were applied.
var installOutput string

// apply applies rendered manifests by server-side apply, refusing unknown fields.
func apply(ctx context.Context, stack *devstack.Stack, rendered []byte, more ...string) (string, error) {
	file, err := os.CreateTemp("", "ostinato-manifests-*.yaml")
	if err != nil {
		return "", fmt.Errorf("keep the manifests: %w", err)
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(rendered); err != nil {
		return "", fmt.Errorf("keep the manifests: %w", err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("keep the manifests: %w", err)
	}
	args := append([]string{"apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", file.Name()}, more...)
	return stack.Kubectl(ctx, args...)
}

// tableHas tells whether a printed table has all the words.
func tableHas(table string, words ...string) bool {
	for _, word := range words {
		if !strings.Contains(table, word) {
			return false
		}
	}
	return true
}
