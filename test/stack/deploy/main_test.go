// Package deploy tests what is deployed: the CRD and the manifests on a real API
// server, and worker and bridge under exactly the access that the manifests give.
package deploy

import (
	"context"
	"os"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	options := devstack.Options{
		// With this plugin, which some distributions turn on, owner references that
		// block deletion need the right to set the owner's finalizers.
		APIServerFlags: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		Access:         install,
		BridgeArgs:     []string{"--lease-namespace=" + deployment.SystemNamespace},
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

// install applies the manifests and returns kubeconfigs of their service accounts.
func install(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
	installOutput, worker, bridge, err = manifests.Install(ctx, stack, manifests.Installation{Folder: manifests.Example})
	return worker, bridge, err
}

// installOutput is what kubectl said when the manifests were applied.
var installOutput string

// tableHas tells whether a printed table has all the words.
func tableHas(table string, words ...string) bool {
	for _, word := range words {
		if !strings.Contains(table, word) {
			return false
		}
	}
	return true
}
