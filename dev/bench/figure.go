package main

import (
	"fmt"
	"time"
)

// header begins a table with one column for each group.
func header(title, first string, groups []group) table {
	t := table{title: title, header: []string{first}}
	for _, g := range groups {
		t.header = append(t.header, g.column.title)
	}
	return t
}

// row adds a row with one cell for each group: the spread of a figure over the repeats.
func (t *table) row(name string, groups []group, of func(measurement) float64, write func(float64) string) {
	t.cells(name, groups, func(g group) string { return g.cell(of, write) })
}

// cells adds a row with one cell for each group.
func (t *table) cells(name string, groups []group, cell func(group) string) {
	cells := []string{name}
	for _, g := range groups {
		cells = append(cells, cell(g))
	}
	t.add(cells...)
}

// timeRow adds a row of a time; one of 0 was not taken.
func (t *table) timeRow(name string, groups []group, of func(measurement) time.Duration) {
	t.row(name, groups, func(m measurement) float64 { return taken(of(m)) }, span)
}

// percentileRows add a row for each fraction of durations.
func (t *table) percentileRows(name string, groups []group, of func(measurement) []time.Duration, fractions ...float64) {
	for _, fraction := range fractions {
		label := fmt.Sprintf("p%.0f", fraction*100)
		if fraction == 1 {
			label = "max"
		}
		t.row(name+", "+label, groups, func(m measurement) float64 {
			values := of(m)
			if len(values) == 0 {
				return absent
			}
			return float64(percentile(values, fraction))
		}, span)
	}
}

// taken is a duration as a figure, absent where it is 0.
func taken(d time.Duration) float64 {
	if d == 0 {
		return absent
	}
	return float64(d)
}

// span writes a figure that is a duration.
func span(v float64) string { return seconds(time.Duration(v)) }

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

// tenths, hundredths and whole write a number; cpu one of seconds of processor time.
func tenths(v float64) string     { return fmt.Sprintf("%.1f", v) }
func hundredths(v float64) string { return fmt.Sprintf("%.2f", v) }
func whole(v float64) string      { return fmt.Sprintf("%.0f", v) }
func cpu(v float64) string        { return fmt.Sprintf("%.1f s", v) }

// megabytes writes an amount of memory.
func megabytes(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }

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
