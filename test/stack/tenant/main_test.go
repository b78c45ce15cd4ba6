// Package tenant attacks a whole stack as somebody who may create Jobs and Pods in one
// namespace and has no other right: with objects of the largest size that the API server
// takes, and very many of them. The tests' names say what Ostinato promises then: its
// processes keep their memory, and other namespaces their turn.
package tenant

import (
	"context"
	"errors"
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

// maxGrowth is how much more memory than before a process may have resident, in bytes.
const maxGrowth = 256 << 20

func TestMain(m *testing.M) {
	// A bridge that is stopped for a while is to lead afterwards.
	options := devstack.Options{BridgeArgs: []string{"--leader-elect=false"}, Env: harness.DeployedMemory}
	var confined error
	set := func(h *harness.Harness) { stack, confined = h, h.Confine() }
	unharmed := func(_ context.Context, h *harness.Harness) error { return errors.Join(confined, h.WithinMemory()) }
	os.Exit(harness.Main(m, options, set, unharmed, harness.NamespacesVanish))
}
