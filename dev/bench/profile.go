package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// profile is a CPU profile of one process.
type profile struct {
	process string
	// file is where the raw profile is kept.
	file string
	// functions hold the flat time of every function, packages that of every package with the runtime's time charged
	// to the package that called it; largest first.
	functions, packages []share
	// total is all sampled processor time.
	total time.Duration
}

// runtimeFunctions are those whose time is charged to their callers in the table of packages: allocation, locks, maps,
// system calls.
const runtimeFunctions = `^(runtime\.|internal/runtime/|internal/sync\.|sync\.|sync/atomic\.|internal/bytealg\.|internal/poll\.|syscall\.|aeshashbody|memeqbody|indexbytebody|cmpbody)`

// runtimeAlone is what is left to the runtime: what no other package called.
const runtimeAlone = "the Go runtime by itself (garbage collection, scheduling)"

type profileResult struct {
	profiles []profile
	err      error
}

// wantsProfile tells whether the measurement is one to profile: Ostinato at the largest size, the last time. A profile
// costs time of its own.
func (o options) wantsProfile(m *measurement) bool {
	return o.profile && m.column.ostinato && m.repeat == o.repeats-1 && m.size == slices.Max(o.sizesOf(m.column, m.scenario))
}

// startProfiles begins to profile worker and Temporal; takeProfiles waits for the result.
func (w *window) startProfiles(ctx context.Context) {
	if !w.options.wantsProfile(w.measurement) {
		return
	}
	results := make(chan profileResult, 1)
	w.profiles = results
	sources := w.cluster.profileSources()
	name := fmt.Sprintf("%s-%s-%d", w.measurement.column.name, w.measurement.scenario, w.measurement.size)
	go func() {
		var all profileResult
		one := make(chan profileResult, len(sources))
		for process, source := range sources {
			go func() {
				file := filepath.Join(w.cluster.dir, fmt.Sprintf("%s-%s.pprof", name, process))
				p, err := takeProfile(ctx, process, source, file, w.options.profileTime)
				one <- profileResult{profiles: []profile{p}, err: err}
			}()
		}
		for range sources {
			result := <-one
			all.profiles = append(all.profiles, result.profiles...)
			all.err = errors.Join(all.err, result.err)
		}
		slices.SortFunc(all.profiles, func(a, b profile) int { return strings.Compare(a.process, b.process) })
		results <- all
	}()
}

func (w *window) takeProfiles(ctx context.Context) error {
	if w.profiles == nil {
		return nil
	}
	select {
	case result := <-w.profiles:
		w.measurement.profiles = result.profiles
		return result.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// profileSource asks a process for a CPU profile of so many seconds.
type profileSource func(ctx context.Context, seconds int) (io.ReadCloser, error)

// profileSources returns how to ask the processes that are profiled, which all have net/http/pprof.
func (c *cluster) profileSources() map[string]profileSource {
	sources := map[string]profileSource{
		"kube-apiserver": func(ctx context.Context, seconds int) (io.ReadCloser, error) {
			return c.Kubernetes.Discovery().RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", strconv.Itoa(seconds)).Stream(ctx)
		},
	}
	if c.ostinato.Cluster() == nil {
		sources["temporal"] = profileAt(fmt.Sprintf("http://127.0.0.1:%d", c.temporalProfiles))
	}
	for _, p := range c.ostinato.Processes() {
		if kind := numbered.ReplaceAllString(p.Name(), ""); kind == "worker" {
			sources[kind] = profileAt(strings.TrimSuffix(c.ostinato.MetricsAddress(p.Name()), "/metrics"))
		}
	}
	return sources
}

func profileAt(address string) profileSource {
	return func(ctx context.Context, seconds int) (io.ReadCloser, error) {
		return get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", address, seconds))
	}
}

// takeProfile keeps a CPU profile of the process in file and sums it up.
func takeProfile(ctx context.Context, process string, source profileSource, file string, length time.Duration) (profile, error) {
	p := profile{process: process, file: file}
	ctx, cancel := context.WithTimeout(ctx, length+30*time.Second)
	defer cancel()
	body, err := source(ctx, int(length.Seconds()))
	if err != nil {
		return p, fmt.Errorf("profile %s: %w", process, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return p, fmt.Errorf("profile %s: %w", process, err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return p, fmt.Errorf("keep the profile of %s: %w", process, err)
	}
	if p.functions, err = readProfile(ctx, file); err != nil {
		return p, fmt.Errorf("read the profile of %s: %w", process, err)
	}
	called, err := readProfile(ctx, file, "-hide="+runtimeFunctions)
	if err != nil {
		return p, fmt.Errorf("read the profile of %s: %w", process, err)
	}
	p.total = total(p.functions)
	p.packages = largestFirst(append(byPackage(called), share{name: runtimeAlone, time: p.total - total(called)}))
	return p, nil
}

// readProfile has the go command read the profile and returns the flat times of all functions.
func readProfile(ctx context.Context, file string, flags ...string) ([]share, error) {
	arguments := append([]string{"tool", "pprof", "-top", "-unit=ms", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0"}, flags...)
	command := exec.CommandContext(ctx, "go", append(arguments, file)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return parseTop(bytes.NewReader(output))
}
