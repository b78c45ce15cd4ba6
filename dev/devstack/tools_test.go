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

func TestProgramsThatNothingRunsAreNotBuilt(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		server  string
	}{
		"an own server":                   {Options{}, "./cmd/temporal"},
		"one with a door":                 {Options{Temporal: TemporalGuarded}, "./cmd/temporal"},
		"a cluster":                       {Options{Temporal: TemporalPostgres}, "./dev/cmd/temporalhost"},
		"a server of the person's choice": {Options{TemporalAddress: "temporal:7233"}, ""},
	} {
		want := []string{"./cmd/worker", "./cmd/bridge"}
		if test.server != "" {
			want = append(want, test.server)
		}
		if got := test.options.packages(); !slices.Equal(got, want) {
			t.Errorf("%s: %v are built", name, got)
		}
	}
}
