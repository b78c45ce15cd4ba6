// Package hostile attacks a whole stack with nothing but a Temporal client: no right in
// Kubernetes, but every activity scheduled by its name, every signal forged, and
// workflows started with whatever fits into a payload. What Ostinato promises then is in
// the tests' names: nothing foreign is read or changed, nothing panics, workers keep
// their memory, and other Jobs keep finishing.
package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/test/harness"
)

var stack *harness.Harness

const (
	// mostMemory is what a worker may have resident, in bytes, whatever it is sent.
	mostMemory = 300 << 20
	// workerLimit and bridgeLimit are the memory limits of the containers (deploy/base): the kernel kills what takes more.
	workerLimit, bridgeLimit = 1 << 30, 512 << 20
)

func TestMain(m *testing.M) {
	var workers usage
	var confined error
	set := func(h *harness.Harness) {
		stack = h
		for _, worker := range h.Workers() {
			workers.pids = append(workers.pids, worker.PID())
		}
		confined = confine(h)
	}
	// Memory is that since TestWorkflowsThatNobodyOfOursStartsFail began, the forged
	// signals' too.
	unharmed := func(context.Context, *harness.Harness) error { return errors.Join(confined, workers.below(mostMemory)) }
	os.Exit(harness.Main(m, devstack.Options{}, set, unharmed, harness.NamespacesVanish))
}

// sameWorkers returns nil when the workers are the processes that they were.
func sameWorkers(h *harness.Harness, pids []int) error {
	if err := h.Stack.Ended(); err != nil {
		return err
	}
	for i, worker := range h.Workers() {
		if worker.PID() != pids[i] {
			return fmt.Errorf("%s is process %d, and was %d", worker.Name(), worker.PID(), pids[i])
		}
	}
	return nil
}

// confine gives workers and bridges the memory that their containers have, where this machine can.
func confine(h *harness.Harness) error {
	err := errors.Join(h.Confine(h.Workers(), workerLimit), h.Confine(h.Bridges(), bridgeLimit))
	if errors.Is(err, harness.ErrNoCgroups) {
		fmt.Fprintln(os.Stderr, "memory is measured and not limited:", err)
		return nil
	}
	return err
}
