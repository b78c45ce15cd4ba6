package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// describeMachine says where the suite ran; what the system does not tell is left out.
func describeMachine() string {
	parts := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if memory, err := fs.Meminfo(); err == nil && memory.MemTotal != nil {
			parts = append(parts, fmt.Sprintf("%.0f GB", float64(*memory.MemTotal)/(1<<20)))
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		parts = append(parts, "Linux "+strings.TrimSpace(string(release)))
	}
	return strings.Join(append(parts, runtime.GOARCH), ", ")
}

// versionModules are the modules whose versions matter, by the executable that is made of them.
var versionModules = []struct{ executable, module, name string }{
	{"e2e.test", "k8s.io/kubernetes", "Kubernetes"},
	{"etcd", "go.etcd.io/etcd/server/v3", "etcd"},
	{"containerd", "github.com/containerd/containerd/v2", "containerd"},
	{"runc", "github.com/opencontainers/runc", "runc"},
}

// versions reads from the executables what they were built of, and names the revision of this repository where that is
// what was judged.
func versions(ctx context.Context, controller Controller, p programs) []string {
	found := []string{"Go " + strings.TrimPrefix(runtime.Version(), "go")}
	for _, wanted := range versionModules {
		info, err := buildinfo.ReadFile(p.tools[wanted.executable])
		if err != nil {
			continue
		}
		modules := append(slices.Clone(info.Deps), &info.Main)
		if i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == wanted.module }); i >= 0 {
			found = append(found, wanted.name+" "+strings.TrimPrefix(modules[i].Version, "v"))
		}
	}
	if controller == Ostinato {
		if revision, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=, with local changes").Output(); err == nil {
			found = append(found, "Ostinato "+strings.TrimSpace(string(revision)))
		}
	}
	return found
}
