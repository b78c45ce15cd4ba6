// Package namespaced tests an installation that serves some namespaces: worker and
// bridge under exactly the access that the manifests give there and nowhere else, with
// the admission policy in force and metrics behind authentication.
package namespaced

import (
	"context"
	"os"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
)

// patience bounds one step, in which a Pod may fail once.
const patience = harness.PodBackoff + harness.Prompt

// The namespaces served. One of them is deleted at last.
const shop, billing, leaving = "shop", "billing", "leaving"

var installation = manifests.Installation{
	Folder:     manifests.Example,
	Namespaces: []string{shop, billing, leaving},
	Components: []string{manifests.NetworkPolicy, manifests.MetricsAuthentication},
}

var (
	stack *harness.Harness
	// installOutput is what kubectl said when the manifests were applied.
	installOutput string
)

func TestMain(m *testing.M) {
	worker, bridge := installation.Arguments()
	options := devstack.Options{
		APIServerFlags: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		Access:         install,
		WorkerArgs:     worker,
		BridgeArgs:     bridge,
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

func install(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
	installOutput, worker, bridge, err = manifests.Install(ctx, stack, installation)
	return worker, bridge, err
}

func TestTheManifestsApplyWithoutWarning(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the manifests warns:\n%s", installOutput)
	}
}
