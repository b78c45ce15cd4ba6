package main

import (
	"fmt"
	"time"
)

// oneJobTable are the figures of a Job of many Pods.
func oneJobTable(name string, groups []group) table {
	t := header(name, "", groups)
	after := func(name string, of func(*oneJob) time.Duration) {
		t.timeRow(name, groups, func(m measurement) time.Duration { return of(m.one) })
	}
	number := func(name string, write func(float64) string, of func(*oneJob) int) {
		t.row(name, groups, func(m measurement) float64 { return float64(of(m.one)) }, write)
	}
	t.row("Pods Complete per second", groups, func(m measurement) float64 { return float64(m.size) / m.one.complete.Seconds() }, tenths)
	after("Job Complete after", func(f *oneJob) time.Duration { return f.complete })
	after("last Pod created after", func(f *oneJob) time.Duration { return f.lastCreated })
	if groups[0].runs[0].scenario == scenarioTogether {
		after("all Pods Running after", func(f *oneJob) time.Duration { return f.allRunning })
		after("first Pod ended after", func(f *oneJob) time.Duration { return f.firstEnded })
		after("last Pod ended after", func(f *oneJob) time.Duration { return f.lastEnded })
	}
	t.row("last Pod ended to Job Complete", groups, func(m measurement) float64 { return float64(m.one.toComplete) }, span)
	t.percentileRows("Pod ended to its finalizer gone", groups, func(m measurement) []time.Duration { return m.one.toRelease }, 0.5, 0.99)
	number("most Pods not ended at a time", whole, func(f *oneJob) int { return f.maxThere })
	number("most Pods Running at a time", whole, func(f *oneJob) int { return f.maxRunning })
	number("longest status.completedIndexes", size, func(f *oneJob) int { return f.longestIndexes })
	number("Pods seen", whole, func(f *oneJob) int { return f.pods })
	return t
}

// historyTables tell what Temporal keeps of the workflow of one Job; none where it had no part.
func historyTables(name string, groups []group) []table {
	groups = with(groups, func(m measurement) bool { return m.one != nil && m.one.histories != nil })
	if len(groups) == 0 {
		return nil
	}
	t := header(name+": histories of its workflow", "", groups)
	row := func(name string, write func(float64) string, of func(m measurement, h *histories) float64) {
		t.row(name, groups, func(m measurement) float64 { return of(m, m.one.histories) }, write)
	}
	largest := func(name string, write func(float64) string, of func(history) int64) {
		row(name, write, func(_ measurement, h *histories) float64 { return float64(h.largest(of)) })
	}
	row("runs (continued as new)", whole, func(_ measurement, h *histories) float64 { return float64(len(h.runs)) })
	row("events", whole, func(_ measurement, h *histories) float64 { return h.events.sum() })
	row("events for each Pod", hundredths, func(m measurement, h *histories) float64 { return h.events.sum() / float64(m.size) })
	row("size", size, func(_ measurement, h *histories) float64 { return h.bytes.sum() })
	row("size for each Pod", size, func(m measurement, h *histories) float64 { return h.bytes.sum() / float64(m.size) })
	largest("largest history, events", whole, func(run history) int64 { return run.events })
	largest("largest history, size", size, func(run history) int64 { return run.bytes })
	largest("largest state carried over", size, func(run history) int64 { return run.carried })
	return []table{t, eventTable(name, groups)}
}

// eventTable tells what the histories consist of.
func eventTable(name string, groups []group) table {
	t := header(name+": events of its workflow, number and size", "event", groups)
	sizes := counts{}
	for _, g := range groups {
		for _, m := range g.runs {
			for kind, bytes := range m.one.histories.bytes {
				sizes[kind] += bytes
			}
		}
	}
	for _, kind := range sizes.keys() {
		t.cells(kind, groups, func(g group) string {
			return fmt.Sprintf("%s, %s",
				g.cell(func(m measurement) float64 { return m.one.histories.events[kind] }, whole),
				g.cell(func(m measurement) float64 { return m.one.histories.bytes[kind] }, size))
		})
	}
	return t
}
