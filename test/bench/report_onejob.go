package main

import (
	"fmt"
	"slices"
)

// oneJobTable are the figures of a Job of many Pods.
func oneJobTable(name string, results []measurement) table {
	t := header(name, "", results)
	row := func(name string, cell func(m measurement, f *oneJob) string) {
		t.row(name, results, func(m measurement) string { return cell(m, m.one) })
	}
	row("Pods Complete per second", func(m measurement, f *oneJob) string {
		return fmt.Sprintf("%.1f", float64(m.size)/f.complete.Seconds())
	})
	row("Job Complete after", func(_ measurement, f *oneJob) string { return seconds(f.complete) })
	row("last Pod created after", func(_ measurement, f *oneJob) string { return seconds(f.lastCreated) })
	if results[0].scenario == scenarioTogether {
		row("all Pods Running after", func(_ measurement, f *oneJob) string { return orDash(f.allRunning) })
		row("first Pod ended after", func(_ measurement, f *oneJob) string { return seconds(f.firstEnded) })
		row("last Pod ended after", func(_ measurement, f *oneJob) string { return seconds(f.lastEnded) })
	}
	row("last Pod ended to Job Complete", func(_ measurement, f *oneJob) string { return seconds(f.toComplete) })
	for _, fraction := range []float64{0.5, 0.99} {
		row(fmt.Sprintf("Pod ended to its finalizer gone, p%.0f", fraction*100), func(_ measurement, f *oneJob) string {
			return seconds(percentile(f.toRelease, fraction))
		})
	}
	row("most Pods not ended at a time", func(_ measurement, f *oneJob) string { return fmt.Sprint(f.mostThere) })
	row("most Pods Running at a time", func(_ measurement, f *oneJob) string { return fmt.Sprint(f.mostRunning) })
	row("longest status.completedIndexes", func(_ measurement, f *oneJob) string { return size(float64(f.longestIndexes)) })
	row("Pods seen", func(_ measurement, f *oneJob) string { return fmt.Sprint(f.pods) })
	return t
}

// historyTables tell what Temporal keeps of the workflow of one Job; none where it had no part.
func historyTables(name string, results []measurement) []table {
	with := slices.DeleteFunc(slices.Clone(results), func(m measurement) bool { return m.one == nil || m.one.histories == nil })
	if len(with) == 0 {
		return nil
	}
	t := header(name+": histories of its workflow", "", with)
	row := func(name string, cell func(m measurement, h *histories) string) {
		t.row(name, with, func(m measurement) string { return cell(m, m.one.histories) })
	}
	row("runs (continued as new)", func(_ measurement, h *histories) string { return fmt.Sprint(len(h.runs)) })
	row("events", func(_ measurement, h *histories) string { return fmt.Sprintf("%.0f", h.events.sum()) })
	row("events for each Pod", func(m measurement, h *histories) string { return fmt.Sprintf("%.2f", h.events.sum()/float64(m.size)) })
	row("size", func(_ measurement, h *histories) string { return size(h.bytes.sum()) })
	row("size for each Pod", func(m measurement, h *histories) string { return size(h.bytes.sum() / float64(m.size)) })
	row("largest history, events", func(_ measurement, h *histories) string {
		return fmt.Sprint(h.largest(func(run history) int64 { return run.events }))
	})
	row("largest history, size", func(_ measurement, h *histories) string {
		return size(float64(h.largest(func(run history) int64 { return run.bytes })))
	})
	row("largest state carried over", func(_ measurement, h *histories) string {
		return size(float64(h.largest(func(run history) int64 { return run.carried })))
	})
	return []table{t, eventTable(name, with)}
}

// eventTable tells what the histories consist of.
func eventTable(name string, results []measurement) table {
	t := header(name+": events of its workflow, number and size", "event", results)
	sizes := counts{}
	for _, m := range results {
		for kind, bytes := range m.one.histories.bytes {
			sizes[kind] += bytes
		}
	}
	for _, kind := range sizes.keys() {
		t.row(kind, results, func(m measurement) string {
			return fmt.Sprintf("%.0f, %s", m.one.histories.events[kind], size(m.one.histories.bytes[kind]))
		})
	}
	return t
}

// size writes a number of bytes with as many digits as mean something.
func size(bytes float64) string {
	switch {
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", bytes/1e6)
	case bytes >= 1e4:
		return fmt.Sprintf("%.0f kB", bytes/1e3)
	default:
		return fmt.Sprintf("%.0f B", bytes)
	}
}
