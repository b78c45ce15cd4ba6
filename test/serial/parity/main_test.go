// Package parity runs the same Jobs once by kube-controller-manager and once by
// Ostinato, on one API server, and compares what is left: status, conditions,
// Pods and Events, in shape.
package parity

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

// builtinOnly is for writing a case: does it reach its steps under the controller
// that is the measure? The package's result says nothing then, so it is not "ok".
var builtinOnly = flag.Bool("builtin-only", false, "run the cases under kube-controller-manager alone, compare nothing, and fail at the end")

func TestMain(m *testing.M) {
	flag.Parse()
	options := devstack.Options{
		// What is compared is what is done, not how fast: with its default of 20 requests
		// a second the controller would miss states that the cases look at.
		ControllerManager: controlplane.ControllerManagerOptions{QPS: 500, Burst: 1000},
	}
	if *builtinOnly {
		options.Workers, options.Bridges = -1, -1
	}
	code := harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish)
	if *builtinOnly {
		fmt.Fprintf(os.Stderr, "kube-controller-manager alone: exit code %d; nothing was compared\n", code)
		code = max(code, 1)
	}
	os.Exit(code)
}
