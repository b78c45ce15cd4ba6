// Package fairness shows, on a whole stack, that a herd of one Kubernetes namespace does not hold up the runs of others:
// their Jobs, and the first Pods of these, are among the first that are made. It asserts order and tells times.
package fairness

import (
	"flag"
	"os"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

// herd is how many CronJobs of one namespace are due at once.
var herd = flag.Int("herd", 250, "CronJobs of one namespace that are due at once")

// weighed is a namespace with a weight of its own, as worker and bridge are told.
const weighed, weights = "weighed", "--fairness-weights=weighed=5"

var stack *harness.Harness

func TestMain(m *testing.M) {
	flag.Parse()
	options := devstack.Options{WorkerArgs: []string{weights}, BridgeArgs: append(harness.ShortLease(), weights)}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }))
}
