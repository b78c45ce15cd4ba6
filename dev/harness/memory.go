package harness

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/prometheus/procfs"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// workerMemory and bridgeMemory are the memory limits of the containers (deploy/base), in bytes: the kernel kills what takes
// more.
const workerMemory, bridgeMemory = 1 << 30, 512 << 20

// DeployedMemory is the environment of processes whose memory is limited as in deploy/base. Both have the worker's GOMEMLIMIT,
// which is beyond the bridge's container: a bridge collects no garbage the sooner for it.
var DeployedMemory = []string{"GOMEMLIMIT=900MiB"}

// Confine gives the workers and bridges that run the memory of their containers, where this machine can, until the stack
// stops. It is called again after one was started.
func (h *Harness) Confine() error {
	err := errors.Join(h.confine(h.Workers(), workerMemory), h.confine(h.Bridges(), bridgeMemory))
	if errors.Is(err, errNoCgroups) {
		fmt.Fprintln(os.Stderr, "memory is measured and not limited:", err)
		return nil
	}
	return err
}

// WithinMemory returns nil when no process has ended by itself, and no worker or bridge had more memory than its container
// since its peak was measured last.
func (h *Harness) WithinMemory() error {
	problems := []error{h.Stack.Ended()}
	for _, g := range h.watched() {
		peak, err := g.status()
		if err != nil {
			problems = append(problems, err)
		} else if peak.VmHWM > g.limit {
			problems = append(problems, fmt.Errorf("%s had %d MiB, want %d at most", g.member.Name(), peak.VmHWM>>20, g.limit>>20))
		}
	}
	return errors.Join(problems...)
}

// MeasureMemory begins to watch the resident memory of workers and bridges. What it returns ends that: it fails the test when
// one has ended, had more memory than its container, or more by grown bytes than before.
func (h *Harness) MeasureMemory(t *testing.T) (below func(grown uint64)) {
	t.Helper()
	watched := h.watched()
	for i := range watched {
		if err := watched[i].begin(); err != nil {
			t.Fatal(err)
		}
	}
	return func(grown uint64) {
		t.Helper()
		if err := h.Stack.Ended(); err != nil {
			t.Error(err)
		}
		for _, g := range watched {
			status, err := g.status()
			if err != nil {
				t.Error(err)
				continue
			}
			more := max(status.VmHWM, g.before) - g.before
			t.Logf("%s: %d MiB before, %d MiB at most, %d MiB now", g.member.Name(), g.before>>20, status.VmHWM>>20, status.VmRSS>>20)
			if status.VmHWM > g.limit || more > grown {
				t.Errorf("%s grew by %d MiB to %d MiB, want %d MiB and %d MiB at most",
					g.member.Name(), more>>20, status.VmHWM>>20, grown>>20, g.limit>>20)
			}
		}
	}
}

// growth watches the resident memory of a process.
type growth struct {
	member        *process.Process
	before, limit uint64
}

func (h *Harness) watched() (all []growth) {
	for _, worker := range h.Workers() {
		all = append(all, growth{member: worker, limit: workerMemory})
	}
	for _, bridge := range h.Bridges() {
		all = append(all, growth{member: bridge, limit: bridgeMemory})
	}
	return slices.Clip(all)
}

// begin makes the kernel forget the peak so far (proc(5), clear_refs).
func (g *growth) begin() error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.member.PID()), []byte("5"), 0); err != nil {
		return fmt.Errorf("forget the peak of %s: %w", g.member.Name(), err)
	}
	status, err := g.status()
	g.before = status.VmRSS
	return err
}

func (g *growth) status() (procfs.ProcStatus, error) {
	found, err := procfs.NewProc(g.member.PID())
	if err != nil {
		return procfs.ProcStatus{}, fmt.Errorf("read the memory of %s: %w", g.member.Name(), err)
	}
	status, err := found.NewStatus()
	if err != nil {
		return procfs.ProcStatus{}, fmt.Errorf("read the memory of %s: %w", g.member.Name(), err)
	}
	return status, nil
}
