package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"ostinato.dev/ostinato/internal/devstack/process"
)

// confinements are the names of the cgroups in which tests keep processes.
const confinements = "ostinato-test-"

// memoryCgroups are where the kernel limits memory: the folder of the hierarchy, and the file of a cgroup that has the limit.
var memoryCgroups = []struct{ folder, limit string }{
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	{"/sys/fs/cgroup", "memory.max"},
}

// ErrNoCgroups means that this machine, or this user, can't limit the memory of processes.
var ErrNoCgroups = errors.New("no memory cgroup can be made here")

// Confine gives each of the processes as much memory as a container of that limit has, in bytes, until the stack stops. The
// kernel kills a process that takes more. The error is ErrNoCgroups where that can't be had.
func (h *Harness) Confine(processes []*process.Process, limit int64) error {
	for _, confined := range processes {
		cgroup, err := confine(confined.PID(), limit)
		if err != nil {
			return fmt.Errorf("limit the memory of %s: %w", confined.Name(), err)
		}
		h.cgroups = append(h.cgroups, cgroup)
	}
	return nil
}

func confine(pid int, limit int64) (cgroup string, err error) {
	for _, hierarchy := range memoryCgroups {
		if left, err := filepath.Glob(filepath.Join(hierarchy.folder, confinements+"*")); err == nil {
			for _, cgroup := range left {
				// What a killed test has left: the kernel removes no cgroup that has processes.
				_ = os.Remove(cgroup)
			}
		}
		cgroup := filepath.Join(hierarchy.folder, confinements+strconv.Itoa(pid))
		if os.Mkdir(cgroup, 0o755) != nil {
			continue
		}
		bound := filepath.Join(cgroup, hierarchy.limit)
		if _, err := os.Stat(bound); err != nil {
			_ = os.Remove(cgroup)
			continue
		}
		return cgroup, errors.Join(
			os.WriteFile(bound, []byte(strconv.FormatInt(limit, 10)), 0),
			os.WriteFile(filepath.Join(cgroup, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0),
		)
	}
	return "", ErrNoCgroups
}

// release removes the cgroups of processes that have ended.
func (h *Harness) release() error {
	var problems []error
	for _, cgroup := range h.cgroups {
		problems = append(problems, os.Remove(cgroup))
	}
	h.cgroups = nil
	return errors.Join(problems...)
}
