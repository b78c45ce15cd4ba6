// Package tenant attacks a whole stack as somebody who may create Jobs and Pods in one
// namespace and has no other right: with objects of the largest size that the API server
// takes, and very many of them. The tests' names say what Ostinato promises then: its
// processes keep their memory, and other namespaces their turn.
package tenant

import (
	"fmt"
	"os"
	"testing"

	"github.com/prometheus/procfs"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/internal/devstack/process"
	"ostinato.dev/ostinato/test/harness"
)

var stack *harness.Harness

func TestMain(m *testing.M) {
	// A bridge that is stopped for a while is to lead afterwards.
	options := devstack.Options{BridgeArgs: []string{"--leader-elect=false"}}
	os.Exit(harness.Main(m, options, func(h *harness.Harness) { stack = h }, harness.NamespacesVanish))
}

// trial reports whether as many objects are to be made as etcd's quota of 2 GiB allows.
func trial() bool { return os.Getenv("OSTINATO_TRIAL") != "" }

const (
	// mostWorker and mostBridge are the deployed limits of memory, in bytes.
	mostWorker, mostBridge = 1 << 30, 512 << 20
	// mostGrowth is how much more memory than before a process may have resident, in bytes.
	mostGrowth = 128 << 20
)

// growth watches the resident memory of a process.
type growth struct {
	member *process.Process
	pid    int
	before uint64
	limit  uint64
}

// measure begins to watch all workers and bridges.
func measure(t *testing.T) (all []growth) {
	t.Helper()
	begin := func(members []*process.Process, limit uint64) {
		for _, member := range members {
			// The kernel forgets the peak so far (proc(5), clear_refs).
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", member.PID()), []byte("5"), 0); err != nil {
				t.Fatalf("forget the peak of %s: %v", member.Name(), err)
			}
			g := growth{member: member, pid: member.PID(), limit: limit}
			status, err := g.status()
			if err != nil {
				t.Fatal(err)
			}
			g.before = status.VmRSS
			all = append(all, g)
		}
	}
	begin(stack.Workers(), mostWorker)
	begin(stack.Bridges(), mostBridge)
	return all
}

func (g growth) status() (procfs.ProcStatus, error) {
	found, err := procfs.NewProc(g.pid)
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	return found.NewStatus()
}

// isBounded fails the test when a process is another, or its peak was too high.
func isBounded(t *testing.T, all []growth, mostGrowth uint64) {
	t.Helper()
	for _, g := range all {
		if g.member.PID() != g.pid {
			t.Errorf("%s is process %d, and was %d", g.member.Name(), g.member.PID(), g.pid)
			continue
		}
		status, err := g.status()
		if err != nil {
			t.Errorf("%s: %v", g.member.Name(), err)
			continue
		}
		grown := max(status.VmHWM, g.before) - g.before
		t.Logf("%s: %d MiB before, %d MiB at most, %d MiB now", g.member.Name(), g.before>>20, status.VmHWM>>20, status.VmRSS>>20)
		if status.VmHWM > g.limit || grown > mostGrowth {
			t.Errorf("%s grew by %d MiB to %d MiB, want %d MiB and %d MiB at most",
				g.member.Name(), grown>>20, status.VmHWM>>20, mostGrowth>>20, g.limit>>20)
		}
	}
}
