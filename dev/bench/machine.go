package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/procfs"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// describeMachine says on what the figures were taken; what the system does not tell is left out.
func describeMachine() string {
	parts := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			parts = append(parts, cpus[0].ModelName)
		}
		if memory, err := fs.Meminfo(); err == nil && memory.MemTotal != nil {
			parts = append(parts, fmt.Sprintf("%.0f GB", float64(*memory.MemTotal)/(1<<20)))
		}
	}
	kernel := runtime.GOOS + "/" + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = "Linux " + strings.TrimSpace(string(release)) + " " + runtime.GOARCH
	}
	return strings.Join(append(parts, kernel), ", ")
}

// versionModules are the modules whose versions matter, by the process that holds them.
var versionModules = map[string][]string{
	"etcd":              {"go.etcd.io/etcd/server/v3"},
	"kube-apiserver":    {"k8s.io/kubernetes"},
	"kwok":              {"sigs.k8s.io/kwok"},
	"temporal":          {"go.temporal.io/server"},
	"temporal-frontend": {"go.temporal.io/server"},
	"worker":            {"go.temporal.io/sdk", "k8s.io/client-go"},
}

// commitOf returns what a program of this repository was built of; "" where the go command did not know.
func commitOf(settings []debug.BuildSetting) string {
	var revision, modified string
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value[:min(12, len(setting.Value))]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = " with changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}

// versions reads from the executables of running processes what they were built of.
func versions(processes []*process.Process) []string {
	found := []string{"go " + strings.TrimPrefix(runtime.Version(), "go")}
	for _, p := range processes {
		info, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", p.PID()))
		if err != nil {
			continue
		}
		if info.Main.Path == "ostinato.dev/ostinato" {
			if commit := commitOf(info.Settings); commit != "" {
				found = append(found, numbered.ReplaceAllString(p.Name(), "")+" "+commit)
			}
		}
		for _, path := range versionModules[numbered.ReplaceAllString(p.Name(), "")] {
			for _, module := range append(info.Deps, &info.Main) {
				if module.Path == path {
					found = append(found, path+" "+module.Version)
				}
			}
		}
	}
	return found
}
