package deploy

import (
	"context"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/deploy/deployment"
)

// This stack's kube-controller-manager runs all its controllers, with its own
// limits: a bridge that is to take CronJobs or Jobs over refuses to run beside them.
func TestTakeOverRefusesToRunBesideTheBuiltInController(t *testing.T) {
	for flag, want := range map[string][]string{
		"jobs": {"kube-controller-manager gave Job ostinato-probe/ostinato-takeover-probe-", "--controllers=*,-job-controller", "without --takeover=jobs"},
		"cronjobs": {
			"another controller gave CronJob ostinato-probe/ostinato-takeover-probe-", "--controllers=*,-cronjob-controller", "without --takeover=cronjobs",
		},
	} {
		t.Run(flag, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), harness.ProbeWait+harness.Slack)
			defer cancel()
			output, code, err := deployment.RunBridge(ctx, stack.Stack, stack.Stack.KubeconfigPath(), "--takeover="+flag)
			if err != nil {
				t.Fatal(err)
			}
			if code != 1 {
				t.Errorf("the bridge ended with %d:\n%s", code, output)
			}
			for _, text := range append(want, "docs/takeover.md") {
				if !strings.Contains(output, text) {
					t.Errorf("the bridge does not say %q:\n%s", text, output)
				}
			}
			probes, err := deployment.Probes(ctx, stack.Stack)
			if err != nil || probes != "" {
				t.Errorf("probes are left: %s %v", probes, err)
			}
		})
	}
}
