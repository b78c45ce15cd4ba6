package chaos

import (
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	options := devstack.Options{
		Workers: workers,
		// A killed bridge holds its lease until it runs out; nobody wants to wait for that.
		BridgeArgs: harness.ShortLease(),
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}
