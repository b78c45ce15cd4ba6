// Package parity runs the same Jobs once by kube-controller-manager and once by
// Ostinato, on one API server, and compares what is left: status, conditions,
// Pods and Events, in shape.
package parity

import (
	"os"
	"testing"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/test/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, devstack.Options{}, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}
