// Package scaleout runs Ostinato on a Temporal cluster of the shape that serves many: PostgreSQL, the server's four roles
// in processes of their own, two history and two matching hosts, mTLS and an authorizer. It kills one host and one worker
// in the middle of a herd, and tries to get in without the right certificate.
//
// Its tests share one stack and break it, so they do not run in parallel.
package scaleout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/postgres"
	"ostinato.dev/ostinato/dev/harness"
)

// workers is how many there are.
const workers = 3

var stack *harness.Harness

func TestMain(m *testing.M) {
	if why := missing(); why != nil {
		fmt.Fprintln(os.Stderr, "nothing was tested:", why)
		if os.Getenv("CI") != "" {
			os.Exit(1)
		}
		return
	}
	options := devstack.Options{Temporal: devstack.TemporalPostgres, Workers: workers}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }))
}

// missing returns what this machine lacks for a cluster.
func missing() error {
	if runtime.GOOS != "linux" {
		return errors.New("the hosts of a role need several loopback addresses, which only Linux has from the start")
	}
	_, err := postgres.Ensure(context.Background(), os.Stderr)
	return err
}
