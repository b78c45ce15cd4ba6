//go:build trial

// Package slow holds up one namespace, or one Job, and measures what that costs others: trials (make trial-slow), since
// their figures are times.
package slow

import (
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, devstack.Options{}, func(h *harness.Harness) { stack = h }))
}
