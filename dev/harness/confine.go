package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// confinements are the names of the cgroups in which tests keep processes.
const confinements = "ostinato-test-"

// memoryCgroups are where the kernel limits memory: the folder of the hierarchy, and the file of a cgroup that has the limit.
var memoryCgroups = []struct{ folder, limit string }{
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	{"/sys/fs/cgroup", "memory.max"},
}

// errNoCgroups means that this machine, or this user, can't limit the memory of processes.
var errNoCgroups = errors.New("no memory cgroup can be made here")

// confine gives each of the processes that is not confined yet as much memory as a container of that limit has, in bytes. The
// error is errNoCgroups where that can't be had.
func (h *Harness) confine(processes []*process.Process, limit int64) error {
	for _, confined := range processes {
		if _, done := h.cgroups[confined.PID()]; done {
			continue
		}
		cgroup, err := confine(confined.PID(), limit)
		if err != nil {
			return fmt.Errorf("limit the memory of %s: %w", confined.Name(), err)
		}
		h.cgroups[confined.PID()] = cgroup
	}
	return nil
}

func confine(pid int, limit int64) (cgroup string, err error) {
	for _, hierarchy := range memoryCgroups {
		if left, err := filepath.Glob(filepath.Join(hierarchy.folder, confinements+"*")); err == nil {
			for _, cgroup := range left {
				// What a killed test has left. Another test that runs may be about to put its process into its own.
				if _, err := os.Stat(filepath.Join("/proc", strings.TrimPrefix(filepath.Base(cgroup), confinements))); err != nil {
					_ = os.Remove(cgroup)
				}
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
	return "", errNoCgroups
}

// release removes the cgroups of processes that have ended.
func (h *Harness) release() error {
	var problems []error
	for _, cgroup := range h.cgroups {
		if err := os.Remove(cgroup); !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	clear(h.cgroups)
	return errors.Join(problems...)
}
