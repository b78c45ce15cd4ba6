package node

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hierarchy is a mounted cgroup tree.
type hierarchy struct {
	path string
	// unified marks version 2; a version 1 tree has its controllers.
	unified     bool
	controllers []string
}

// parseHierarchies finds the cgroup trees in the text of /proc/self/mountinfo.
func parseHierarchies(mountinfo string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			found = append(found, hierarchy{path: fields[4], unified: true})
		case "cgroup":
			found = append(found, hierarchy{path: fields[4], controllers: strings.Split(kind[2], ",")})
		}
	}
	return found
}

// missingControllers tells which of the controllers that the kubelet insists on no version 1 tree has. Where there is no
// version 1 tree with controllers at all, the machine runs version 2 and the answer is unified.
func missingControllers(hierarchies []hierarchy) (missing []string, unified bool) {
	var have []string
	for _, h := range hierarchies {
		have = append(have, h.controllers...)
	}
	needed := []string{"cpu", "cpuacct", "cpuset", "memory", "pids"}
	missing = slices.DeleteFunc(slices.Clone(needed), func(c string) bool { return slices.Contains(have, c) })
	if len(missing) == len(needed) {
		return nil, true
	}
	return missing, false
}

var cgroupPattern = regexp.MustCompile(`^ostinato-(\d+)-[0-9a-f]{8}$`)

// cgroupName is the root of a node's cgroups: it tells the process that started the node, so that what a killed one left
// can be known for what it is, and the node's folder.
func cgroupName(pid int, dir string) string {
	hash := fnv.New32a()
	hash.Write([]byte(dir))
	return fmt.Sprintf("ostinato-%d-%08x", pid, hash.Sum32())
}

// cgroupOwner returns the process that made the cgroup, false where it is none of a node.
func cgroupOwner(name string) (pid int, ok bool) {
	match := cgroupPattern.FindStringSubmatch(name)
	if match == nil {
		return 0, false
	}
	pid, err := strconv.Atoi(match[1])
	return pid, err == nil
}
