package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"ostinato.dev/ostinato/internal/devstack"
)

// report is everything a run tells.
type report struct {
	date     time.Time
	machine  string
	versions []string
	options  options
	results  []measurement
}

// tables returns the tables of all scenarios and sizes, then the comparison.
func (r report) tables() []table {
	var all []table
	for _, scenario := range scenarios {
		for _, size := range r.sizes(scenario.name) {
			results := r.of(scenario.name, size)
			name := r.options.title(scenario.name, size)
			if scenario.oneJob {
				all = append(all, oneJobTable(name, results))
			} else {
				all = append(all, figureTable(name, results))
			}
			all = append(all, usageTable(name, results), writesTable(name, results), callsTable(name, results))
			all = append(all, historyTables(name, results)...)
		}
	}
	all = append(all, r.comparison()...)
	return slices.DeleteFunc(all, func(t table) bool { return len(t.rows) == 0 })
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

func (r report) of(scenario string, size int) []measurement {
	var results []measurement
	for _, m := range r.results {
		if m.scenario == scenario && m.size == size {
			results = append(results, m)
		}
	}
	return results
}

// header begins a table with one column for each measurement.
func header(title, first string, results []measurement) table {
	t := table{title: title, header: []string{first}}
	for _, m := range results {
		t.header = append(t.header, m.column.title)
	}
	return t
}

// row adds a row with one cell for each measurement.
func (t *table) row(name string, results []measurement, cell func(measurement) string) {
	cells := []string{name}
	for _, m := range results {
		cells = append(cells, cell(m))
	}
	t.add(cells...)
}

func figureTable(name string, results []measurement) table {
	t := header(name, "", results)
	span := func(name string, pick func(spans) []time.Duration, fractions ...float64) {
		for _, fraction := range fractions {
			label := fmt.Sprintf("p%.0f", fraction*100)
			if fraction == 1 {
				label = "max"
			}
			t.row(name+", "+label, results, func(m measurement) string { return seconds(percentile(pick(m.spans), fraction)) })
		}
	}
	if results[0].scenario == scenarioJobs {
		t.row("Jobs Complete per second", results, func(m measurement) string { return fmt.Sprintf("%.1f", m.rate()) })
		t.row("all Complete after", results, func(m measurement) string { return seconds(m.spans.all) })
		t.row("creating the Jobs took the bench", results, func(m measurement) string { return seconds(m.created) })
	} else {
		span("due time to Job created", func(s spans) []time.Duration { return s.fromStart }, 0.5, 0.99, 1)
		t.row("all Complete after the due time", results, func(m measurement) string { return seconds(m.spans.all) })
		t.row("Jobs Complete per second from the due time", results, func(m measurement) string { return fmt.Sprintf("%.1f", m.rate()) })
		t.row("creating the CronJobs took the bench", results, func(m measurement) string { return seconds(m.created) })
		t.row("all CronJobs taken over after the first create", results, func(m measurement) string { return orDash(m.armed) })
		t.row("processor time until then, all processes", results, func(m measurement) string { return orDash(m.setupCPU) })
	}
	span("Job created to Pod created", func(s spans) []time.Duration { return s.toPod }, 0.5, 0.99)
	span("Pod ended to Job Complete", func(s spans) []time.Duration { return s.toComplete }, 0.5, 0.99)
	span("Job created to Complete", func(s spans) []time.Duration { return s.whole }, 0.5, 0.99)
	t.row("Pods seen", results, func(m measurement) string { return fmt.Sprint(m.pods) })
	return t
}

func (m measurement) rate() float64 {
	if m.spans.all == 0 {
		return 0
	}
	return float64(m.size) / m.spans.all.Seconds()
}

func usageTable(name string, results []measurement) table {
	t := header(name+": processor time and peak resident memory", "process", results)
	var processes []string
	for _, m := range results {
		for _, u := range m.usage {
			if u.name != others && !slices.Contains(processes, u.name) {
				processes = append(processes, u.name)
			}
		}
		if !m.peaksReset {
			t.notes = append(t.notes, "the kernel did not let peaks be reset: those of "+m.column.title+" are since the processes started")
		}
	}
	for _, process := range processes {
		t.row(process, results, func(m measurement) string { return m.usageOf(process).String() })
	}
	t.row("all above but the bench", results, func(m measurement) string {
		var total processUsage
		for _, u := range m.usage {
			if u.name != "bench" && u.name != others {
				total.cpuSeconds += u.cpuSeconds
				total.peakBytes += u.peakBytes
			}
		}
		return total.String()
	})
	t.row(others, results, func(m measurement) string {
		u := m.usageOf(others)
		if share := u.cpuSeconds / (m.elapsed.Seconds() * float64(runtime.NumCPU())); share > disturbedShare {
			t.notes = append(t.notes, fmt.Sprintf("%s: other programs took %.0f %% of the machine meanwhile: on an idle one the figures are better", m.column.title, 100*share))
		}
		return fmt.Sprintf("%.1f s", u.cpuSeconds)
	})
	return t
}

func (m measurement) usageOf(process string) processUsage {
	var total processUsage
	for _, u := range m.usage {
		if u.name == process {
			total.name, total.cpuSeconds, total.peakBytes = process, total.cpuSeconds+u.cpuSeconds, total.peakBytes+u.peakBytes
		}
	}
	return total
}

func (u processUsage) String() string {
	switch {
	case u.peakBytes == 0 && u.cpuSeconds == 0:
		return "-"
	case u.peakBytes == 0:
		return fmt.Sprintf("%.1f s", u.cpuSeconds)
	}
	return fmt.Sprintf("%.1f s, %.0f MB", u.cpuSeconds, float64(u.peakBytes)/1e6)
}

// disturbedShare is how much of the machine may go to other programs before a table says that it was disturbed.
const disturbedShare = 0.05

// seconds writes a duration with as many digits as mean something.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 10:
		return fmt.Sprintf("%.1f s", s)
	case s >= 1:
		return fmt.Sprintf("%.2f s", s)
	default:
		return fmt.Sprintf("%.0f ms", s*1000)
	}
}

func orDash(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return seconds(d)
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

// writeMarkdown writes the report for docs/performance.md.
func (r report) writeMarkdown(out io.Writer) {
	for _, line := range r.preamble() {
		fmt.Fprintf(out, "- %s\n", line)
	}
	for _, t := range append(r.tables(), r.profileTables()...) {
		t.writeMarkdown(out)
	}
}

func (r report) preamble() []string {
	server := "the development server with its data in SQLite files"
	switch {
	case r.options.inMemory:
		server = "the development server with its data in memory"
	case r.options.temporal == devstack.TemporalPostgres:
		server = "a cluster on PostgreSQL, its roles in separate processes (two history, two matching hosts), with mTLS"
	}
	return []string{
		"date: " + r.date.Format(time.DateOnly),
		"machine: " + r.machine,
		"versions: " + strings.Join(r.versions, ", "),
		"Temporal: " + server,
		"command: " + r.options.command,
	}
}
