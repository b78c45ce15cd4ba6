package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ownResources are what the controllers under comparison write; all else is others' (leases, the Node, tokens).
var ownResources = []string{"jobs", "pods", "cronjobs", "events"}

// kwokWrite is the simulated node's.
const kwokWrite = "PATCH pods/status"

// controllerWrites are the writes of the controllers alone: without the bench's own creates and the node's.
func (m measurement) controllerWrites() counts {
	own := counts{}
	for key, count := range m.writes {
		_, target, _ := strings.Cut(key, " ")
		resource, _, _ := strings.Cut(strings.TrimSuffix(target, " "), "/")
		resource, _, _ = strings.Cut(resource, " ")
		if key == kwokWrite || !slices.Contains(ownResources, resource) {
			continue
		}
		switch {
		case key != "POST jobs":
		case m.scenario == scenarioJobs:
			count -= float64(m.size)
		case scenarioOf(m.scenario).oneJob:
			count--
		}
		if count > 0 {
			own[key] = count
		}
	}
	return own
}

func writesTable(name string, results []measurement) table {
	t := header(name+": Kubernetes writes for each "+scenarioOf(results[0].scenario).unit, "request", results)
	all, events := counts{}, "events"
	for _, m := range results {
		for key, count := range m.controllerWrites() {
			all[key] += count
		}
	}
	perRun := func(m measurement, count float64) string { return m.each(count) }
	for _, key := range all.keys() {
		t.row(key, results, func(m measurement) string { return perRun(m, m.controllerWrites()[key]) })
	}
	total := func(m measurement, want func(key string) bool) string {
		var sum float64
		for key, count := range m.controllerWrites() {
			if want(key) {
				sum += count
			}
		}
		return perRun(m, sum)
	}
	t.row("all but Events", results, func(m measurement) string {
		return total(m, func(key string) bool { return !strings.Contains(key, events) })
	})
	t.row("Events", results, func(m measurement) string {
		return total(m, func(key string) bool { return strings.Contains(key, events) })
	})
	t.notes = append(t.notes, "the bench's own creates and the simulated node's writes of Pod status are left out; a code in brackets is that of a refusal")
	return t
}

// each writes how many of something there were for each run or Pod: to a hundredth, or as a total where that is nothing.
func (m measurement) each(count float64) string {
	if share := count / float64(m.size); count == 0 || share >= 0.005 {
		return fmt.Sprintf("%.2f", share)
	}
	return fmt.Sprintf("%.0f in all", count)
}

func callsTable(name string, results []measurement) table {
	with := slices.DeleteFunc(slices.Clone(results), func(m measurement) bool { return len(m.calls) == 0 })
	if len(with) == 0 {
		return table{}
	}
	t := header(name+": Temporal calls for each "+scenarioOf(with[0].scenario).unit, "call", with)
	all := counts{}
	for _, m := range with {
		for key, count := range m.calls {
			all[key] += count
		}
	}
	for _, key := range all.keys() {
		t.row(key, with, func(m measurement) string { return m.each(m.calls[key]) })
	}
	t.row("all", with, func(m measurement) string { return m.each(m.calls.sum()) })
	return t
}

// The aims of a first version.
const (
	aimedTimes  = 8
	aimedMemory = 300e6
	// aimedSize is the number of CronJobs at which memory counts.
	aimedSize = 1000
)

// comparison sets Ostinato against the built-in controllers at default flags, at the sizes both were measured with, and
// against the aims.
func (r report) comparison() []table {
	t := table{
		title:  "Ostinato against the built-in controllers at default flags",
		header: []string{"", "built-in", "Ostinato", "times better", "aim"},
	}
	add := func(name string, before, after float64, format func(float64) string, larger bool) {
		if before == 0 || after == 0 {
			return
		}
		ratio := before / after
		if larger {
			ratio = after / before
		}
		t.add(name, format(before), format(after), fmt.Sprintf("%.1f", ratio), fmt.Sprint(aimedTimes))
	}
	rate := func(v float64) string { return fmt.Sprintf("%.1f/s", v) }
	span := func(v float64) string { return seconds(time.Duration(v)) }
	for _, scenario := range []string{scenarioJobs, scenarioCronJobs} {
		for _, size := range r.sizes(scenario) {
			before, after := r.find("builtin", scenario, size), r.find("ostinato", scenario, size)
			if before == nil || after == nil {
				continue
			}
			if scenario == scenarioJobs {
				add(fmt.Sprintf("%d Jobs: Complete per second", size), before.rate(), after.rate(), rate, true)
				continue
			}
			p99 := func(m *measurement) float64 { return float64(percentile(m.spans.fromStart, 0.99)) }
			add(fmt.Sprintf("%d CronJobs: due time to Job created, p99", size), p99(before), p99(after), span, false)
			add(fmt.Sprintf("%d CronJobs: all Complete", size), float64(before.spans.all), float64(after.spans.all), span, false)
		}
	}
	if m := r.find("ostinato", scenarioCronJobs, aimedSize); m != nil {
		memory := m.usageOf("worker").peakBytes + m.usageOf("bridge").peakBytes
		t.add(fmt.Sprintf("%d CronJobs: peak memory of worker and bridge", aimedSize), "-",
			fmt.Sprintf("%.0f MB", float64(memory)/1e6), "-", fmt.Sprintf("under %.0f MB", aimedMemory/1e6))
	}
	if len(t.rows) == 0 {
		return nil
	}
	return []table{t}
}

func (r report) find(column, scenario string, size int) *measurement {
	for i, m := range r.results {
		if m.column.name == column && m.scenario == scenario && m.size == size {
			return &r.results[i]
		}
	}
	return nil
}

// topCount is how many functions and packages of a profile are shown.
const topCount = 15

func (r report) profileTables() []table {
	var all []table
	for _, m := range r.results {
		for _, p := range m.profiles {
			name := fmt.Sprintf("Where the CPU of %s went: %s (%s sampled)", p.process, r.options.title(m.scenario, m.size), seconds(p.total))
			all = append(all, p.table(name+", by function", "function", p.functions),
				p.table(name+", by package, with what the runtime does for it", "package", p.packages))
		}
	}
	return all
}

func (p profile) table(title, first string, shares []share) table {
	t := table{title: title, header: []string{first, "time", "share"}}
	for _, s := range shares[:min(topCount, len(shares))] {
		t.add(s.name, seconds(s.time), fmt.Sprintf("%.1f %%", 100*s.time.Seconds()/p.total.Seconds()))
	}
	return t
}
