package main

import (
	"fmt"
	"runtime"
	"slices"
)

// disturbedShare is how much of the machine may go to other programs before a table says that it was disturbed.
const disturbedShare = 0.05

func usageTable(name string, groups []group) table {
	groups = with(groups, func(m measurement) bool { return len(m.usage) > 0 })
	if len(groups) == 0 {
		return table{}
	}
	t := usageOfAll(name+": processor time and peak resident memory", groups, func(m measurement) []processUsage { return m.usage })
	for _, g := range groups {
		most, reset := 0.0, true
		for _, m := range g.runs {
			used := usageNamed(m.usage, others).cpuSeconds
			most = max(most, used/(m.elapsed.Seconds()*float64(runtime.NumCPU())))
			reset = reset && m.peaksReset
		}
		if most > disturbedShare {
			t.notes = append(t.notes, fmt.Sprintf("%s: other programs took %.0f %% of the machine meanwhile: on an idle one the figures are better", g.column.title, 100*most))
		}
		if !reset {
			t.notes = append(t.notes, "the kernel did not let peaks be reset: those of "+g.column.title+" are since the processes started")
		}
	}
	return t
}

// usageOfAll has a row for each process, one for all together, and one for everything else on the machine.
func usageOfAll(title string, groups []group, of func(measurement) []processUsage) table {
	t := header(title, "process", groups)
	var processes []string
	for _, g := range groups {
		for _, m := range g.runs {
			for _, u := range of(m) {
				if u.name != others && !slices.Contains(processes, u.name) {
					processes = append(processes, u.name)
				}
			}
		}
	}
	row := func(name string, total func([]processUsage) processUsage) {
		t.cells(name, groups, func(g group) string {
			time := g.cell(func(m measurement) float64 { return orAbsent(total(of(m)).cpuSeconds, total(of(m)).name != "") }, cpu)
			peak := g.cell(func(m measurement) float64 {
				bytes := float64(total(of(m)).peakBytes)
				return orAbsent(bytes, bytes > 0)
			}, megabytes)
			if peak == "-" {
				return time
			}
			return time + ", " + peak
		})
	}
	for _, process := range processes {
		row(process, func(all []processUsage) processUsage { return usageNamed(all, process) })
	}
	row("all above but the bench", measuredUsage)
	row(others, func(all []processUsage) processUsage { return usageNamed(all, others) })
	return t
}

func orAbsent(v float64, there bool) float64 {
	if !there {
		return absent
	}
	return v
}

// usageNamed returns what processes of a name used together; the zero value where there is none.
func usageNamed(all []processUsage, names ...string) processUsage {
	return usageWhere(all, func(name string) bool { return slices.Contains(names, name) })
}

// measuredUsage returns what everything used that is measured.
func measuredUsage(all []processUsage) processUsage {
	return usageWhere(all, func(name string) bool { return name != "bench" && name != others })
}

func usageWhere(all []processUsage, want func(string) bool) processUsage {
	var total processUsage
	for _, u := range all {
		if want(u.name) {
			total.name, total.cpuSeconds, total.peakBytes = u.name, total.cpuSeconds+u.cpuSeconds, total.peakBytes+u.peakBytes
		}
	}
	return total
}
