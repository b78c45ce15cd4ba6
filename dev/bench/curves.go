package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// drawing is what tools/plot reads.
type drawing struct {
	Panels []panel `json:"panels"`
}

// panel has the curves of one scenario and size.
type panel struct {
	Title  string  `json:"title"`
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Curves []curve `json:"curves"`
}

// curve is how many there were after so many seconds.
type curve struct {
	Name   string       `json:"name"`
	Colour int          `json:"colour"`
	Dashed bool         `json:"dashed"`
	Points [][2]float64 `json:"points"`
}

// drawing shows when Jobs were created and Complete, or Pods of the one Job created and ended: of each column the repeat
// whose end was the median one.
func (r report) drawing() drawing {
	var d drawing
	for _, s := range scenarios {
		for _, size := range r.sizes(s.name) {
			p := panel{Title: r.options.title(s.name, size), X: "seconds", Y: "Jobs"}
			last := "Complete"
			switch {
			case s.oneJob:
				p.Y, last = "Pods", "ended"
			case s.scheduled:
				p.X = "seconds after the due time"
			}
			for colour, g := range groups(r.results, s.name, size) {
				m := g.middle()
				if starts, ends := m.moments(); len(ends) > 0 {
					p.Curves = append(p.Curves,
						curve{Name: m.column.title + ": created", Colour: colour, Dashed: true, Points: cumulated(starts)},
						curve{Name: m.column.title + ": " + last, Colour: colour, Points: cumulated(ends)})
				}
			}
			if len(p.Curves) > 0 {
				d.Panels = append(d.Panels, p)
			}
		}
	}
	return d
}

// middle returns the repeat whose end is the median one; of two the earlier.
func (g group) middle() measurement {
	sorted := slices.SortedStableFunc(slices.Values(g.runs), func(a, b measurement) int { return int(a.all() - b.all()) })
	return sorted[(len(sorted)-1)/2]
}

// moments are when things began and ended, from the start on, in no order.
func (m measurement) moments() (starts, ends []time.Duration) {
	if m.one != nil {
		return m.one.created, m.one.ended
	}
	return m.spans.fromStart, m.spans.toEnd
}

// maxPoints is how many points of a curve can be told apart.
const maxPoints = 300

// cumulated is how many of the moments had passed at each of them: from none at 0 to all at the last. Where there are more
// than can be told apart, every so many one is a point, the last one always.
func cumulated(moments []time.Duration) [][2]float64 {
	sorted := slices.Sorted(slices.Values(moments))
	each := max(1, (len(sorted)+maxPoints-1)/maxPoints)
	points := [][2]float64{{0, 0}}
	for i, at := range sorted {
		if count := i + 1; count%each == 0 || count == len(sorted) {
			points = append(points, [2]float64{at.Round(time.Millisecond).Seconds(), float64(count)})
		}
	}
	return points
}

// draw has tools/plot write an SVG file.
func (d drawing) draw(ctx context.Context, path string, log io.Writer) error {
	tools, err := toolchain.Ensure(ctx, log, toolchain.Drawing...)
	if err != nil {
		return err
	}
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	command := exec.CommandContext(ctx, tools["plot"])
	command.Stdin = bytes.NewReader(data)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	svg, err := command.Output()
	if err != nil {
		return fmt.Errorf("draw %s: %w: %s", path, err, strings.TrimSpace(complaints.String()))
	}
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		return fmt.Errorf("keep the plot: %w", err)
	}
	return nil
}
