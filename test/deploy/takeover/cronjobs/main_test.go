// Package cronjobs tests a cluster whose kube-controller-manager runs without its
// cronjob controller, with worker and bridge in its place, under exactly the access that
// the manifests with the component for that give. Jobs are the built-in controller's.
package cronjobs

import (
	"context"
	"os"
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/internal/devstack/controlplane"
	"ostinato.dev/ostinato/internal/devstack/manifests"
	"ostinato.dev/ostinato/test/deploy/deployment"
	"ostinato.dev/ostinato/test/harness"
)

var (
	stack *harness.Harness
	// installOutput is what kubectl said when the manifests were applied.
	installOutput string
	// bridgeKubeconfig is the access of the bridge's service account.
	bridgeKubeconfig string
)

func TestMain(m *testing.M) {
	installation := manifests.Installation{Folder: manifests.Base, Components: []string{manifests.TakeOverCronJobs}}
	options := optionsOf(installation, "*,-cronjob-controller")
	install := options.Access
	options.Access = func(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
		worker, bridge, err = install(ctx, stack)
		bridgeKubeconfig = bridge
		return worker, bridge, err
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

// optionsOf is a stack under an installation, whose kube-controller-manager has these
// controllers.
func optionsOf(installation manifests.Installation, controllers string) devstack.Options {
	worker, bridge := installation.Arguments()
	return devstack.Options{
		ControllerManager: controlplane.ControllerManagerOptions{Controllers: controllers},
		APIServerFlags:    []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		Access: func(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
			installOutput, worker, bridge, err = manifests.Install(ctx, stack, installation)
			return worker, bridge, err
		},
		WorkerArgs: worker,
		BridgeArgs: append(bridge, harness.ShortLease()...),
	}
}

func TestTheManifestsApplyWithoutWarning(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the manifests warns:\n%s", installOutput)
	}
}

// What is added are the rights to CronJobs, and to the probe where nothing else is.
func TestTheRightsToCronJobs(t *testing.T) {
	own, probe := deployment.SystemNamespace, deployment.ProbeNamespace
	for _, test := range []struct {
		account, namespace, request string
		want                        bool
	}{
		{deployment.BridgeAccount, probe, "create cronjobs.batch", true},
		{deployment.BridgeAccount, probe, "delete cronjobs.batch", true},
		{deployment.BridgeAccount, probe, "patch cronjobs.batch/status", true},
		{deployment.BridgeAccount, probe, "patch cronjobs.batch", false},
		{deployment.BridgeAccount, probe, "create jobs.batch", false},
		{deployment.BridgeAccount, "default", "watch cronjobs.batch", true},
		{deployment.BridgeAccount, "default", "create cronjobs.batch", false},
		{deployment.BridgeAccount, "default", "patch cronjobs.batch/status", false},
		{deployment.BridgeAccount, "default", "delete jobs.batch", false},
		{deployment.WorkerAccount, "default", "patch cronjobs.batch", true},
		{deployment.WorkerAccount, "default", "patch cronjobs.batch/status", true},
		{deployment.WorkerAccount, "default", "take-over cronjobs.batch", true},
		{deployment.WorkerAccount, "default", "take-over jobs.batch", false},
		{deployment.WorkerAccount, "default", "create cronjobs.batch", false},
		{deployment.WorkerAccount, "default", "delete cronjobs.batch", false},
		{deployment.WorkerAccount, own, "watch cronjobs.batch", false},
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
