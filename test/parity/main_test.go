// Package parity runs the same Jobs once by kube-controller-manager and once by
// Ostinato, on one API server, and compares what is left: status, conditions,
// Pods and Events, in shape.
package parity

import (
	"os"
	"testing"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/internal/devstack/controlplane"
	"ostinato.dev/ostinato/test/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	options := devstack.Options{
		// What is compared is what is done, not how fast: with its default of 20 requests
		// a second the controller would miss states that the cases look at.
		ControllerManager: controlplane.ControllerManagerOptions{QPS: 500, Burst: 1000},
	}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}
