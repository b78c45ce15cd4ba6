// Package hostile attacks a whole stack with nothing but a Temporal client: no right in
// Kubernetes, but every activity scheduled by its name, every signal forged, and
// workflows started with whatever fits into a payload. What Ostinato promises then is in
// the tests' names: nothing foreign is read or changed, nothing panics, workers keep
// their memory, and other Jobs keep finishing.
package hostile

import (
	"context"
	"errors"
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

// maxGrowth is how much more memory than before a process may have resident, in bytes, whatever it is sent: garbage of as
// much as is held at a time.
const maxGrowth = 640 << 20

// TestMain starts worker and bridge with the rights and the memory that deploy gives them, and with the admission policies.
func TestMain(m *testing.M) {
	installation := manifests.Installation{Folder: manifests.Example}
	options := devstack.Options{
		Access: func(ctx context.Context, stack *devstack.Stack) (worker, bridge string, err error) {
			_, worker, bridge, err = manifests.Install(ctx, stack, installation)
			return worker, bridge, err
		},
		Env: harness.DeployedMemory,
	}
	options.WorkerArgs, options.BridgeArgs = installation.Arguments()
	var confined error
	set := func(h *harness.Harness) { stack, confined = h, h.Confine() }
	unharmed := func(_ context.Context, h *harness.Harness) error { return errors.Join(confined, h.WithinMemory()) }
	os.Exit(harness.Main(m, options, set, unharmed, harness.NamespacesVanish))
}
