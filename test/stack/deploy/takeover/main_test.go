// Package takeover tests a cluster whose kube-controller-manager runs without its
// job controller, with worker and bridge in its place, under exactly the access
// that the manifests with the component for take-over give.
package takeover

import (
	"context"
	"os"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// patience bounds one step of a life. The worker may have been killed before it; a new
// bridge that was started leads.
const patience = harness.Recovery

// controllers are those of kube-controller-manager. CronJobs and TTLs stay its own.
const controllers = "*,-job-controller"

var (
	stack *harness.Harness
	// installOutput is what kubectl said when the manifests were applied.
	installOutput string
	// bridgeKubeconfig is the access of the bridge's service account.
	bridgeKubeconfig string
)

func TestMain(m *testing.M) {
	options := devstack.Options{
		ControllerManager: controlplane.ControllerManagerOptions{Controllers: controllers},
		APIServerFlags:    []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		Access:            install,
		WorkerArgs:        []string{"--takeover=jobs"},
		BridgeArgs:        append([]string{"--takeover=jobs", "--lease-namespace=" + deployment.SystemNamespace}, harness.ShortLease()...),
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

func install(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
	installOutput, worker, bridge, err = manifests.Install(ctx, stack, manifests.Installation{
		Folder: manifests.Base, Components: []string{manifests.TakeOverJobs},
	})
	bridgeKubeconfig = bridge
	return worker, bridge, err
}

func TestTheManifestsApplyWithoutWarning(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the manifests warns:\n%s", installOutput)
	}
}

// The bridge gets the right to make its probe, where nothing else is; the worker the right
// to take over, which the admission policy asks for.
func TestTakeOverGivesTwoRights(t *testing.T) {
	own, probe := deployment.SystemNamespace, deployment.ProbeNamespace
	for _, test := range []struct {
		account, namespace, request string
		want                        bool
	}{
		{deployment.BridgeAccount, probe, "create jobs.batch", true},
		{deployment.BridgeAccount, probe, "get jobs.batch", true},
		{deployment.BridgeAccount, probe, "list jobs.batch", true},
		{deployment.BridgeAccount, probe, "delete jobs.batch", true},
		{deployment.BridgeAccount, probe, "patch jobs.batch", false},
		{deployment.BridgeAccount, probe, "create pods", false},
		{deployment.BridgeAccount, own, "create jobs.batch", false},
		{deployment.BridgeAccount, own, "delete jobs.batch", false},
		{deployment.BridgeAccount, "default", "delete jobs.batch", false},
		{deployment.BridgeAccount, "default", "create jobs.batch", false},
		{deployment.BridgeAccount, own, "patch jobs.batch", false},
		{deployment.BridgeAccount, own, "update jobs.batch/status", false},
		{deployment.BridgeAccount, own, "deletecollection jobs.batch", false},
		{deployment.BridgeAccount, "default", "deletecollection jobs.batch", false},
		{deployment.BridgeAccount, own, "create pods", false},
		{deployment.BridgeAccount, own, "delete pods", false},
		{deployment.BridgeAccount, "default", "take-over jobs.batch", false},
		{deployment.WorkerAccount, "default", "take-over jobs.batch", true},
		{deployment.WorkerAccount, own, "deletecollection jobs.batch", false},
		{deployment.WorkerAccount, own, "create leases.coordination.k8s.io", false},
	} {
		client, err := deployment.Client(t.Context(), stack.Stack, test.account)
		if err != nil {
			t.Fatal(err)
		}
		allowed, reason, err := deployment.May(t.Context(), client, test.namespace, test.request)
		if err != nil {
			t.Fatal(err)
		}
		if allowed != test.want {
			t.Errorf("%s may %s in %s: %t, want %t: %s", test.account, test.request, test.namespace, allowed, test.want, reason)
		}
	}
}
