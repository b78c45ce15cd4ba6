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
	"strings"
	"time"
)

// profile is a CPU profile of one process.
type profile struct {
	process string
	// file is where the raw profile is kept.
	file string
	// functions hold the flat time of every function, largest first.
	functions []share
	// total is all sampled processor time.
	total time.Duration
}

type profileResult struct {
	profiles []profile
	err      error
}

// wantsProfile tells whether the measurement is one to profile: Ostinato at the largest size.
func (o options) wantsProfile(m *measurement) bool {
	return o.profile && m.column.ostinato && m.size == slices.Max(o.sizes)
}

// startProfiles begins to profile worker and Temporal; takeProfiles waits for the result.
func (w *window) startProfiles(ctx context.Context) {
	if !w.options.wantsProfile(w.measurement) {
		return
	}
	results := make(chan profileResult, 1)
	w.profiles = results
	addresses := w.cluster.profileAddresses()
	name := fmt.Sprintf("%s-%d", w.measurement.scenario, w.measurement.size)
	go func() {
		var all profileResult
		one := make(chan profileResult, len(addresses))
		for process, address := range addresses {
			go func() {
				file := filepath.Join(w.cluster.dir, fmt.Sprintf("%s-%s.pprof", name, process))
				p, err := takeProfile(ctx, process, address, file, w.options.profileTime)
				one <- profileResult{profiles: []profile{p}, err: err}
			}()
		}
		for range addresses {
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

// profileAddresses returns where the processes that are profiled serve net/http/pprof.
func (c *cluster) profileAddresses() map[string]string {
	addresses := map[string]string{"temporal": fmt.Sprintf("http://127.0.0.1:%d", c.temporalProfiles)}
	for _, p := range c.ostinato.Processes() {
		if kind := numbered.ReplaceAllString(p.Name(), ""); kind == "worker" {
			addresses[p.Name()] = strings.TrimSuffix(c.ostinato.MetricsAddress(p.Name()), "/metrics")
		}
	}
	return addresses
}

// takeProfile keeps a CPU profile of the process in file and sums it up.
func takeProfile(ctx context.Context, process, address, file string, length time.Duration) (profile, error) {
	p := profile{process: process, file: file}
	ctx, cancel := context.WithTimeout(ctx, length+30*time.Second)
	defer cancel()
	body, err := get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", address, int(length.Seconds())))
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
	command := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-unit=ms", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", file)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return p, fmt.Errorf("read the profile of %s: %w: %s", process, err, strings.TrimSpace(stderr.String()))
	}
	if p.functions, err = parseTop(bytes.NewReader(output)); err != nil {
		return p, fmt.Errorf("read the profile of %s: %w", process, err)
	}
	for _, function := range p.functions {
		p.total += function.time
	}
	return p, nil
}
