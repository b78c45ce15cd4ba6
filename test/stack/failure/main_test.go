// Package failure kills and stops Ostinato's processes and what they depend on
// in the middle of their work. Every test asserts the same in the end: each run
// finished once, with the Pods it needs and no more, and nothing is left behind.
//
// Its tests share one stack and break it, so they do not run in parallel.
package failure

import (
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	options := devstack.Options{
		// A killed bridge holds its lease until it runs out; nobody wants to wait for that.
		BridgeArgs: harness.ShortLease(),
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}
