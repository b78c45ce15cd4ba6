// Package cronjobs tests a cluster whose kube-controller-manager runs without its
// cronjob controller, with worker and bridge in its place, under exactly the access that
// the manifests with the component for that give. Jobs are the built-in controller's.
package cronjobs

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

var (
	stack *harness.Harness
	// installed is the result of installing the manifests on it.
	installed access
)

// access is the result of installing manifests on a stack.
type access struct {
	// output is what kubectl said when the manifests were applied.
	output string
	// bridge is the kubeconfig of the bridge's service account.
	bridge string
}

func TestMain(m *testing.M) {
	options := optionsOf(manifests.TakeOverCronJobs, withoutCronJobs, &installed)
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

// withoutCronJobs are the controllers of a kube-controller-manager whose CronJobs are taken over, and withoutJobs those of one
// whose Jobs are too.
const withoutCronJobs, withoutJobs = "*,-cronjob-controller", withoutCronJobs + ",-job-controller"

// optionsOf is a stack under the manifests with a component, whose kube-controller-manager has these
// controllers.
func optionsOf(component, controllers string, installed *access) devstack.Options {
	installation := manifests.Installation{Folder: manifests.Base, Components: []string{component}}
	worker, bridge := installation.Arguments()
	return devstack.Options{
		ControllerManager: controlplane.ControllerManagerOptions{Controllers: controllers},
		APIServerFlags:    []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
		Access: func(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
			installed.output, worker, bridge, err = manifests.Install(ctx, stack, installation)
			installed.bridge = bridge
			return worker, bridge, err
		},
		WorkerArgs: worker,
		BridgeArgs: append(bridge, harness.ShortLease()...),
	}
}

// another starts a stack of a test's own.
func another(t *testing.T, component, controllers string) (*harness.Harness, access) {
	t.Helper()
	var installed access
	h, err := harness.Start(t.Context(), optionsOf(component, controllers, &installed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	})
	return h, installed
}

func TestTheManifestsApplyWithoutWarning(t *testing.T) {
	if strings.Contains(installed.output, "Warning:") {
		t.Errorf("applying the manifests warns:\n%s", installed.output)
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
