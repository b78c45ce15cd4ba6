package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ostinato.dev/ostinato/dev/devstack/await"
)

// cgroupPatience bounds the wait for a cgroup to be empty: killed processes leave it within moments.
const cgroupPatience = 10 * time.Second

func hierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the cgroups: %w", err)
	}
	return parseHierarchies(string(data)), nil
}

// createCgroups makes a cgroup of the name in every tree, ready to be given processes and children.
func createCgroups(name string) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	missing, unified := missingControllers(trees)
	if len(missing) > 0 {
		return fmt.Errorf("the machine has no cgroup controller %s", strings.Join(missing, ", "))
	}
	for _, tree := range trees {
		path := filepath.Join(tree.path, name)
		if tree.unified && unified {
			if err := enableControllers(tree.path); err != nil {
				return err
			}
		}
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make cgroup %s: %w", path, err)
		}
		if slices.Contains(tree.controllers, "cpuset") {
			// A new cpuset of version 1 has no processors until it is given some.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				if err := copyFile(filepath.Join(tree.path, file), filepath.Join(path, file)); err != nil {
					return fmt.Errorf("make cgroup %s: %w", path, err)
				}
			}
		}
		if tree.unified && unified {
			if err := enableControllers(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// enableControllers hands what the kubelet needs down to the children of a version 2 cgroup.
func enableControllers(path string) error {
	data, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("enable cgroup controllers: %w", err)
	}
	available := strings.Fields(string(data))
	for _, controller := range []string{"cpu", "cpuset", "memory", "pids", "io", "hugetlb"} {
		required := controller == "cpu" || controller == "cpuset" || controller == "memory" || controller == "pids"
		if !slices.Contains(available, controller) {
			if required {
				return fmt.Errorf("%s has no cgroup controller %s", path, controller)
			}
			continue
		}
		err := os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		if err != nil && required {
			return fmt.Errorf("enable cgroup controller %s in %s: %w", controller, path, err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// removeCgroups takes the cgroups of the name away, with everything under them, as soon as they are empty.
func removeCgroups(ctx context.Context, name string) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cgroupPatience)
	defer cancel()
	return await.Success(ctx, 50*time.Millisecond, func(context.Context) error {
		var failures []error
		for _, tree := range trees {
			failures = append(failures, removeTree(filepath.Join(tree.path, name)))
		}
		return errors.Join(failures...)
	})
}

// removeTree removes a cgroup from the leaves up.
func removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove cgroup %s: %w", path, err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Rmdir(path); err != nil && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("remove cgroup %s: %w", path, err)
	}
	return nil
}

// sweepCgroups takes away what nodes left whose process was killed.
func sweepCgroups(ctx context.Context) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	orphans := map[string]bool{}
	for _, tree := range trees {
		entries, err := os.ReadDir(tree.path)
		if err != nil {
			return fmt.Errorf("sweep cgroups: %w", err)
		}
		for _, entry := range entries {
			pid, ok := cgroupOwner(entry.Name())
			if ok && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				orphans[entry.Name()] = true
			}
		}
	}
	var failures []error
	for name := range orphans {
		failures = append(failures, removeCgroups(ctx, name))
	}
	return errors.Join(failures...)
}
