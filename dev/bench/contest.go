package main

import (
	"fmt"
	"time"
)

// contest is a figure by which Ostinato is set against another column.
type contest struct {
	name  string
	of    func(measurement) float64
	write func(float64) string
	// larger tells that a larger figure is the better one.
	larger bool
}

// Names of contests that aims refer to.
const (
	contestRate     = "Complete per second"
	contestSkew     = "due time to Job created, p99"
	contestComplete = "all Complete"
)

// contests are those of a scenario.
func (s scenario) contests() []contest {
	duration := func(name string, of func(measurement) time.Duration) contest {
		return contest{name: name, of: func(m measurement) float64 { return taken(of(m)) }, write: span}
	}
	complete := duration(contestComplete, measurement.all)
	work := contest{name: "processor time of all processes", write: cpu, of: func(m measurement) float64 { return measuredUsage(m.usage).cpuSeconds }}
	switch {
	case s.name == scenarioIdle:
		return nil
	case s.name == scenarioRunning:
		return []contest{duration("all Pods Running", func(m measurement) time.Duration { return m.running }), complete, work}
	case s.scheduled:
		return []contest{
			duration(contestSkew, func(m measurement) time.Duration { return percentile(m.spans.fromStart, 0.99) }),
			duration("due time to Job created, max", func(m measurement) time.Duration { return percentile(m.spans.fromStart, 1) }),
			complete, work,
		}
	case s.oneJob:
		return []contest{complete, work}
	default:
		return []contest{{name: contestRate, of: measurement.rate, write: tenths, larger: true}, complete, work}
	}
}

// comparisons set Ostinato against every other column, where both were measured. Ratios are of the same repeat, then their
// median is taken.
func (r report) comparisons() []table {
	var all []table
	for _, c := range r.options.columns {
		if c.name != ostinatoColumn {
			all = append(all, r.against(c))
		}
	}
	return all
}

func (r report) against(other column) table {
	t := table{title: "Ostinato against: " + other.title, header: []string{"", other.title, "Ostinato", "times better", "aim"}}
	if r.options.repeats > 1 {
		t.notes = append(t.notes, "times better: of each repeat by itself, then the median")
	}
	for _, s := range scenarios {
		for _, size := range r.sizes(s.name) {
			both := groups(r.results, s.name, size)
			before, after := groupNamed(both, other.name), groupNamed(both, ostinatoColumn)
			if before == nil || after == nil {
				continue
			}
			for _, c := range s.contests() {
				above, below := before.byRepeat(c.of), after.byRepeat(c.of)
				if c.larger {
					above, below = below, above
				}
				if better, ok := spreadOf(ratios(above, below)); ok {
					t.add(r.options.title(s.name, size)+": "+c.name, before.cell(c.of, c.write), after.cell(c.of, c.write),
						better.text(hundredths), aimedRatio(other.name, s.name, c.name))
				}
			}
		}
	}
	return t
}

func groupNamed(all []group, column string) *group {
	for i, g := range all {
		if g.column.name == column {
			return &all[i]
		}
	}
	return nil
}

// aimedRatios are the least times better that are aimed at.
var aimedRatios = []struct {
	against, scenario, contest string
	times                      float64
}{
	{"builtin", scenarioJobs, contestRate, 15},
	{"builtin", scenarioCronJobs, contestSkew, 8},
	{"builtin-unlimited", scenarioJobs, contestRate, 1},
	{"builtin-unlimited", scenarioCronJobs, contestSkew, 2},
	{"builtin-unlimited", scenarioCronJobs, contestComplete, 1 / 1.2},
	{"builtin-unlimited", scenarioIndexed, contestComplete, 1},
}

func aimedRatio(against, scenario, contest string) string {
	for _, aim := range aimedRatios {
		if aim.against == against && aim.scenario == scenario && aim.contest == contest {
			return fmt.Sprintf("%.2f or more", aim.times)
		}
	}
	return "-"
}
