package main

import (
	"context"
	"fmt"
	"time"
)

// steady is what happens while nothing is to be done.
type steady struct {
	elapsed time.Duration
	usage   []processUsage
	// requests are all that the API server answered, own those of worker and bridge, calls theirs to Temporal.
	requests, own, calls counts
}

// rest watches for a while that nothing happens.
func (w *window) rest(ctx context.Context) error {
	s := &w.measurement.steady
	before, err := w.counters(ctx)
	if err != nil {
		return err
	}
	// The kernel forgets the peaks up to now.
	if err := w.meter.keepPeaks(); err != nil {
		return err
	}
	meter, err := startUsage(w.cluster.processes())
	if err != nil {
		return err
	}
	started := time.Now()
	if err := pause(ctx, w.options.window); err != nil {
		return err
	}
	after, err := w.counters(ctx)
	if err != nil {
		return err
	}
	s.elapsed = time.Since(started)
	if s.usage, err = meter.read(); err != nil {
		return err
	}
	s.requests, s.own, s.calls = after.requests.since(before.requests), after.own.since(before.own), after.calls.since(before.calls)
	return w.cluster.alive()
}

// counters reads what has been counted so far.
func (w *window) counters(ctx context.Context) (now steady, err error) {
	if now.own, err = w.cluster.requests(ctx); err != nil {
		return now, err
	}
	if now.calls, err = w.cluster.calls(ctx); err != nil {
		return now, err
	}
	now.requests, err = kubernetesRequests(ctx, w.cluster.Kubernetes)
	return now, err
}

// steadyTables tell what each minute of it held; none where there was no such time.
func steadyTables(name string, groups []group) []table {
	groups = with(groups, func(m measurement) bool { return m.steady.elapsed > 0 })
	if len(groups) == 0 {
		return nil
	}
	name = fmt.Sprintf("%s, over %s without anything to do", name, groups[0].runs[0].steady.elapsed.Round(time.Second))
	t := header(name+": requests a minute", "", groups)
	t.minuteRows("worker and bridge to the API server, all", "", groups, func(s steady) counts { return s.own })
	t.minuteRows("worker and bridge to Temporal, all", "Temporal: ", groups, func(s steady) counts { return s.calls })
	t.minuteRows("the API server, from everybody", "API server: ", groups, func(s steady) counts { return s.requests })
	t.notes = append(t.notes, "everybody: also the node, leases, the other built-in controllers and the API server itself")
	return []table{t, usageOfAll(name+": processor time and peak resident memory", groups, func(m measurement) []processUsage { return m.steady.usage })}
}

// minuteRows add a row for all of some counts, and one for each key.
func (t *table) minuteRows(all, prefix string, groups []group, of func(steady) counts) {
	keys := counts{}
	for _, g := range groups {
		for _, m := range g.runs {
			for key, count := range of(m.steady) {
				keys[key] += count
			}
		}
	}
	row := func(name string, count func(steady) float64) {
		t.row(name, groups, func(m measurement) float64 { return count(m.steady) / m.steady.elapsed.Minutes() }, tenths)
	}
	row(all, func(s steady) float64 { return of(s).sum() })
	for _, key := range keys.keys() {
		row("  "+prefix+key, func(s steady) float64 { return of(s)[key] })
	}
}
