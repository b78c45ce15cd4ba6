package main

import (
	"fmt"
	"slices"
	"strings"
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
		case m.scenario == scenarioJobs, m.scenario == scenarioRunning:
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

func writesTable(name string, groups []group) table {
	t := header(name+": Kubernetes writes for each "+unitOf(groups), "request", groups)
	all, events := counts{}, "events"
	for _, g := range groups {
		for _, m := range g.runs {
			for key, count := range m.controllerWrites() {
				all[key] += count
			}
		}
	}
	row := func(name string, want func(key string) bool) {
		t.each(name, groups, func(m measurement) float64 {
			var sum float64
			for key, count := range m.controllerWrites() {
				if want(key) {
					sum += count
				}
			}
			return sum
		})
	}
	for _, key := range all.keys() {
		row(key, func(other string) bool { return other == key })
	}
	row("all but Events", func(key string) bool { return !strings.Contains(key, events) })
	row("Events", func(key string) bool { return strings.Contains(key, events) })
	t.notes = append(t.notes, "the bench's own creates and the simulated node's writes of Pod status are left out; a code in brackets is that of a refusal")
	return t
}

// unitOf is what the groups' writes and calls are counted for.
func unitOf(groups []group) string { return scenarioOf(groups[0].runs[0].scenario).unit }

// each adds a row of how many of something there were for each run or Pod: to a hundredth, or as a total where that is
// nothing.
func (t *table) each(name string, groups []group, count func(measurement) float64) {
	t.cells(name, groups, func(g group) string {
		share := func(m measurement) float64 { return count(m) / float64(m.size) }
		var total, most float64
		for _, m := range g.runs {
			total, most = total+count(m), max(most, share(m))
		}
		if total == 0 || most >= 0.005 {
			return g.cell(share, hundredths)
		}
		return g.cell(count, whole) + " in all"
	})
}

func callsTable(name string, groups []group) table {
	groups = with(groups, func(m measurement) bool { return len(m.calls) > 0 })
	if len(groups) == 0 {
		return table{}
	}
	t := header(name+": Temporal calls for each "+unitOf(groups), "call", groups)
	all := counts{}
	for _, g := range groups {
		for _, m := range g.runs {
			for key, count := range m.calls {
				all[key] += count
			}
		}
	}
	for _, key := range all.keys() {
		t.each(key, groups, func(m measurement) float64 { return m.calls[key] })
	}
	t.each("all", groups, func(m measurement) float64 { return m.calls.sum() })
	return t
}

// topCount is how many functions and packages of a profile are shown.
const topCount = 15

func (r report) profileTables() []table {
	var all []table
	for _, m := range r.results {
		for _, p := range m.profiles {
			name := fmt.Sprintf("Where the CPU of %s went: %s, %s (%s sampled)", p.process, m.column.title, r.options.title(m.scenario, m.size), seconds(p.total))
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
