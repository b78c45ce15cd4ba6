package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/prometheus/procfs"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// processUsage is what one process used.
type processUsage struct {
	name       string
	cpuSeconds float64
	// peakBytes is the largest resident memory.
	peakBytes uint64
}

// others is the name under which everything else that ran on the machine is counted.
const others = "everything else on the machine"

// usageMeter measures processes by /proc.
type usageMeter struct {
	members []meteredProcess
	// left is what processes used that have been replaced.
	left []processUsage
	// machine is the processor time of the whole machine at the start.
	machine float64
	// peaksReset tells that the peaks are those since the start of the meter, not of the processes.
	peaksReset bool
}

type meteredProcess struct {
	name   string
	pid    int
	before float64
	// peak is the largest resident memory before the kernel forgot it.
	peak uint64
}

// numbered is the suffix that tells several processes of one kind apart.
var numbered = regexp.MustCompile(`-\d+$`)

// startUsage begins to measure the processes and the bench itself.
func startUsage(processes []*process.Process) (*usageMeter, error) {
	meter := &usageMeter{peaksReset: true}
	for _, p := range processes {
		meter.members = append(meter.members, meteredProcess{name: numbered.ReplaceAllString(p.Name(), ""), pid: p.PID()})
	}
	meter.members = append(meter.members, meteredProcess{name: "bench", pid: os.Getpid()})
	for i, member := range meter.members {
		if err := resetPeak(member.pid); err != nil {
			meter.peaksReset = false
		}
		usage, err := readUsage(member)
		if err != nil {
			return nil, err
		}
		meter.members[i].before = usage.cpuSeconds
	}
	var err error
	meter.machine, err = machineBusy()
	return meter, err
}

// restartCPU counts processor time from now on; peaks stay.
func (m *usageMeter) restartCPU() error {
	for i, member := range m.members {
		usage, err := readUsage(member)
		if err != nil {
			return err
		}
		m.members[i].before = usage.cpuSeconds
	}
	m.left = nil
	var err error
	m.machine, err = machineBusy()
	return err
}

// keepPeaks keeps the peaks up to now, before the kernel is made to forget them.
func (m *usageMeter) keepPeaks() error {
	for i, member := range m.members {
		usage, err := readUsage(member)
		if err != nil {
			return err
		}
		m.members[i].peak = usage.peakBytes
	}
	return nil
}

// leave takes note of what processes used that are about to be killed.
func (m *usageMeter) leave(processes []*process.Process) error {
	for _, p := range processes {
		at := slices.IndexFunc(m.members, func(member meteredProcess) bool { return member.pid == p.PID() })
		if at < 0 {
			continue
		}
		usage, err := readUsage(m.members[at])
		if err != nil {
			return err
		}
		usage.cpuSeconds -= m.members[at].before
		m.left = append(m.left, usage)
		m.members = slices.Delete(m.members, at, at+1)
	}
	return nil
}

// join measures processes too that have just been started. What took the place of another has its peak at least.
func (m *usageMeter) join(processes []*process.Process) {
	for _, p := range processes {
		member := meteredProcess{name: numbered.ReplaceAllString(p.Name(), ""), pid: p.PID()}
		if at := slices.IndexFunc(m.left, func(u processUsage) bool { return u.name == member.name && u.peakBytes > 0 }); at >= 0 {
			member.peak, m.left[at].peakBytes = m.left[at].peakBytes, 0
		}
		m.members = append(m.members, member)
	}
}

// read returns what was used since the start, others last.
func (m *usageMeter) read() ([]processUsage, error) {
	machine, err := machineBusy()
	if err != nil {
		return nil, err
	}
	rest := processUsage{name: others, cpuSeconds: machine - m.machine}
	all := slices.Clone(m.left)
	for _, gone := range all {
		rest.cpuSeconds -= gone.cpuSeconds
	}
	for _, member := range m.members {
		usage, err := readUsage(member)
		if err != nil {
			return nil, err
		}
		usage.cpuSeconds -= member.before
		rest.cpuSeconds -= usage.cpuSeconds
		all = append(all, usage)
	}
	rest.cpuSeconds = max(0, rest.cpuSeconds)
	return append(all, rest), nil
}

// machineBusy returns the processor time the machine has spent so far, in seconds, time that a hypervisor took away
// included.
func machineBusy() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("measure the machine: %w", err)
	}
	stat, err := fs.Stat()
	if err != nil {
		return 0, fmt.Errorf("measure the machine: %w", err)
	}
	cpu := stat.CPUTotal
	return cpu.User + cpu.Nice + cpu.System + cpu.IRQ + cpu.SoftIRQ + cpu.Steal, nil
}

func readUsage(member meteredProcess) (processUsage, error) {
	proc, err := procfs.NewProc(member.pid)
	if err != nil {
		return processUsage{}, fmt.Errorf("measure %s: %w", member.name, err)
	}
	stat, statErr := proc.Stat()
	status, statusErr := proc.NewStatus()
	if err := errors.Join(statErr, statusErr); err != nil {
		return processUsage{}, fmt.Errorf("measure %s: %w", member.name, err)
	}
	usage := processUsage{name: member.name, cpuSeconds: stat.CPUTime(), peakBytes: max(status.VmHWM, member.peak)}
	if member.name == postgres {
		return withConnections(usage, stat)
	}
	return usage, nil
}

// postgres is the name of the process that has one more for each connection.
const postgres = "postgres"

// withConnections adds the processor time of a PostgreSQL server's other processes, those that ended included. There is no
// peak of memory: they share most of it.
func withConnections(usage processUsage, first procfs.ProcStat) (processUsage, error) {
	usage.peakBytes = 0
	usage.cpuSeconds += float64(first.CUTime+first.CSTime) / ticksPerSecond
	all, err := procfs.AllProcs()
	if err != nil {
		return processUsage{}, fmt.Errorf("measure %s: %w", usage.name, err)
	}
	for _, p := range all {
		// One that ends meanwhile is counted with those that ended, at the next look.
		if stat, err := p.Stat(); err == nil && stat.PPID == first.PID {
			usage.cpuSeconds += stat.CPUTime()
		}
	}
	return usage, nil
}

// ticksPerSecond is USER_HZ, which Linux has fixed.
const ticksPerSecond = 100

// resetPeak makes the kernel forget the process's peak of resident memory (proc(5), clear_refs).
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
