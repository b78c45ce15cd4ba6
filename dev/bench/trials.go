package main

import (
	"fmt"
	"slices"
)

// trial is one measurement to make.
type trial struct {
	scenario string
	size     int
	// repeat counts from 0.
	repeat int
	column column
}

func (t trial) namespace() string {
	return fmt.Sprintf("bench-%s-%s-%d-%d", t.column.name, t.scenario, t.size, t.repeat)
}

// trials returns all measurements in their order. The columns of a repeat follow one another, and only then comes the next
// repeat (ABAB, not AABB): what changes on the machine with time then hits all columns alike.
func (o options) trials() []trial {
	var all []trial
	for _, scenario := range o.scenarios {
		for _, size := range o.sizesOf(column{}, scenario) {
			for repeat := range o.repeats {
				for _, c := range o.columns {
					if slices.Contains(o.sizesOf(c, scenario), size) {
						all = append(all, trial{scenario: scenario, size: size, repeat: repeat, column: c.in(scenario)})
					}
				}
			}
		}
	}
	return all
}

// leftOut returns the names of columns that no trial measures.
func (o options) leftOut() []string {
	var names []string
	all := o.trials()
	for _, c := range o.columns {
		if !slices.ContainsFunc(all, func(t trial) bool { return t.column.name == c.name }) {
			names = append(names, c.name)
		}
	}
	return names
}

// group is what one column did in a scenario with a size, in all repeats.
type group struct {
	column column
	runs   []measurement
}

// groups returns the results of a scenario with a size by column, in the order that columns were first measured in.
func groups(results []measurement, scenario string, size int) []group {
	var all []group
	for _, m := range results {
		if m.scenario != scenario || m.size != size {
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.column.name == m.column.name })
		if at < 0 {
			at = len(all)
			all = append(all, group{column: m.column})
		}
		all[at].runs = append(all[at].runs, m)
	}
	return all
}

// with returns the groups of those measurements that have something; groups without any are left out.
func with(all []group, has func(measurement) bool) []group {
	var some []group
	for _, g := range all {
		runs := slices.DeleteFunc(slices.Clone(g.runs), func(m measurement) bool { return !has(m) })
		if len(runs) > 0 {
			some = append(some, group{column: g.column, runs: runs})
		}
	}
	return some
}

// byRepeat returns a figure of each repeat.
func (g group) byRepeat(of func(measurement) float64) map[int]float64 {
	values := map[int]float64{}
	for _, m := range g.runs {
		values[m.repeat] = of(m)
	}
	return values
}

// cell writes the spread of a figure over the repeats.
func (g group) cell(of func(measurement) float64, write func(float64) string) string {
	var values []float64
	for _, m := range g.runs {
		values = append(values, of(m))
	}
	s, ok := spreadOf(values)
	if !ok {
		return "-"
	}
	return s.text(write)
}
