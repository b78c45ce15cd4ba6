// Package evidence lets runs end on a real node in as many ways as there are, and reads what is left of each: why it
// failed in the words of its container, and the end of its log.
package evidence

import (
	"fmt"
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	if possible, missing := node.CanRunReal(); !possible {
		fmt.Println("skipped:", missing)
		if os.Getenv("CI") == "true" {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(harness.Main(m, devstack.Options{Node: devstack.NodeReal}, func(h *harness.Harness) { stack = h }))
}
