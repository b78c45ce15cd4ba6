package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// report is everything a run tells.
type report struct {
	date     time.Time
	machine  string
	versions []string
	options  options
	results  []measurement
}

// tables returns the tables of all scenarios and sizes, then the comparisons.
func (r report) tables() []table {
	var all []table
	for _, scenario := range scenarios {
		for _, size := range r.sizes(scenario.name) {
			all = append(all, tablesOf(scenario, r.options.title(scenario.name, size), groups(r.results, scenario.name, size))...)
		}
	}
	all = append(append(all, r.comparisons()...), r.aims())
	return slices.DeleteFunc(all, func(t table) bool { return len(t.rows) == 0 })
}

// tablesOf returns the tables of one scenario and size.
func tablesOf(s scenario, name string, groups []group) []table {
	var all []table
	switch {
	case s.oneJob:
		all = append(all, oneJobTable(name, groups))
	case s.name == scenarioIdle:
		all = append(all, idleTable(name, groups))
	default:
		all = append(all, figureTable(name, groups))
	}
	all = append(all, steadyTables(name, groups)...)
	all = append(all, usageTable(name, groups))
	if s.unit != "" {
		all = append(all, writesTable(name, groups), callsTable(name, groups))
	}
	return append(all, historyTables(name, groups)...)
}

func (r report) sizes(scenario string) []int {
	var sizes []int
	for _, m := range r.results {
		if m.scenario == scenario {
			sizes = append(sizes, m.size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// figureTable are the figures of many Jobs of one Pod.
func figureTable(name string, groups []group) table {
	t := header(name, "", groups)
	scenario := scenarioOf(groups[0].runs[0].scenario)
	all := func(m measurement) time.Duration { return m.spans.all }
	switch {
	case scenario.scheduled:
		t.percentileRows("due time to Job created", groups, func(m measurement) []time.Duration { return m.spans.fromStart }, 0.5, 0.99, 1)
		t.percentileRows("due time to Pod created", groups, func(m measurement) []time.Duration { return m.spans.podFromStart }, 0.5, 0.99, 1)
		t.timeRow("all Complete after the due time", groups, all)
		t.row("Jobs Complete per second from the due time", groups, measurement.rate, tenths)
		t.timeRow("creating the CronJobs took the bench", groups, func(m measurement) time.Duration { return m.created })
		t.timeRow("all CronJobs taken over after the first create", groups, func(m measurement) time.Duration { return m.armed })
		t.timeRow("processor time until then, all processes", groups, func(m measurement) time.Duration { return m.setupCPU })
	case scenario.name == scenarioRunning:
		t.timeRow("creating the Jobs took the bench", groups, func(m measurement) time.Duration { return m.created })
		t.timeRow("all Pods Running after", groups, func(m measurement) time.Duration { return m.running })
		t.timeRow("all Complete after the Pods' common end", groups, func(m measurement) time.Duration { return m.spans.all })
	default:
		t.row("Jobs Complete per second", groups, measurement.rate, tenths)
		t.percentileRows("first create to Pod created", groups, func(m measurement) []time.Duration { return m.spans.podFromStart }, 0.5, 0.99, 1)
		t.timeRow("all Complete after", groups, all)
		t.timeRow("creating the Jobs took the bench", groups, func(m measurement) time.Duration { return m.created })
	}
	if scenario.name == scenarioFailOver {
		t.timeRow("killed and started again, ready after", groups, func(m measurement) time.Duration { return m.restarted })
	}
	t.percentileRows("Job created to Pod created", groups, func(m measurement) []time.Duration { return m.spans.toPod }, 0.5, 0.99)
	t.percentileRows("Pod ended to Job Complete", groups, func(m measurement) []time.Duration { return m.spans.toComplete }, 0.5, 0.99)
	t.percentileRows("Job created to Complete", groups, func(m measurement) []time.Duration { return m.spans.whole }, 0.5, 0.99)
	t.row("Pods seen", groups, func(m measurement) float64 { return float64(m.pods) }, whole)
	return t
}

// rate is how many Jobs were Complete a second.
func (m measurement) rate() float64 {
	if m.spans.all == 0 {
		return absent
	}
	return float64(m.size) / m.spans.all.Seconds()
}

// writeText writes the report for a terminal.
func (r report) writeText(out io.Writer) {
	fmt.Fprintf(out, "\n%s\n", strings.Join(r.preamble(), "\n"))
	for _, t := range r.tables() {
		t.writeText(out)
	}
	for _, t := range r.profileTables() {
		t.writeText(out)
	}
}

// writeMarkdown writes the report as Markdown, for --out.
func (r report) writeMarkdown(out io.Writer) {
	for _, line := range r.preamble() {
		fmt.Fprintf(out, "- %s\n", line)
	}
	for _, t := range append(r.tables(), r.profileTables()...) {
		t.writeMarkdown(out)
	}
}

// preamble says what was measured, on what, and when.
func (r report) preamble() []string {
	lines := []string{
		"date: " + r.date.UTC().Format("2006-01-02 15:04 MST"),
		"machine: " + r.machine + "; everything that is measured, and the bench, share it",
		"versions: " + strings.Join(r.versions, ", "),
		"Temporal: " + describeTemporal(r.options),
		"Ostinato: one worker and one bridge with default flags, as administrator, without a limit of requests",
	}
	if r.options.repeats > 1 {
		lines = append(lines, fmt.Sprintf("figures: the median of %d repeats, and in brackets the least and the most; the columns took turns. "+
			"Each measurement began with controllers just started, an empty Temporal and an empty namespace", r.options.repeats))
	}
	return append(lines, "command: "+r.options.command)
}
