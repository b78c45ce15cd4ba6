package devstack

import (
	"slices"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// What runs is built before anything starts: the first run of make dev waits for it.
func TestTheFirstRunWaitsForNoServices(t *testing.T) {
	for _, kind := range []NodeKind{NodeReal, NodeKwok, NodeNone} {
		s := &Stack{NodeKind: kind, services: kind == NodeReal}
		for _, name := range slices.Concat(toolchain.Network, toolchain.Clients) {
			if slices.Contains(s.runs(), name) {
				t.Errorf("a stack with node %s does not start without %s", kind, name)
			}
		}
	}
	if got := (&Stack{NodeKind: NodeReal, services: true}).network(); !slices.Equal(got, toolchain.Network) {
		t.Errorf("a real node gets %q", got)
	}
	if got := (&Stack{NodeKind: NodeReal}).network(); got != nil {
		t.Errorf("a real node without nft gets %q", got)
	}
}
