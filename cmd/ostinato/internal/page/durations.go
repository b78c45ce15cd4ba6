package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// Duration is how long a run took.
type Duration struct {
	At   time.Time
	Took time.Duration
	Kind Kind
	Job  string
}

// Durations are those of the runs that have ended, the first first.
func Durations(rows []ostinatov1.RecentRun) []Duration {
	var found []Duration
	for _, row := range rows {
		if row.StartTime == nil || row.EndTime == nil {
			continue
		}
		took := max(row.EndTime.Sub(row.StartTime.Time), 0)
		found = append(found, Duration{row.ScheduledTime.Time, took, KindOf(row), row.JobName})
	}
	slices.SortStableFunc(found, func(a, b Duration) int { return a.At.Compare(b.At) })
	return found
}

// History compares a run, which may be going on, with those that completed; empty where none is known.
func History(clock answer.Clock, row ostinatov1.RecentRun, durations []Duration) string {
	var others []time.Duration
	for _, other := range durations {
		if other.Kind == Complete && other.Job != row.JobName {
			others = append(others, other.Took)
		}
	}
	if row.StartTime == nil || len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	took, verb := clock.Now.Sub(row.StartTime.Time), "Has taken"
	if row.EndTime != nil {
		took, verb = row.EndTime.Sub(row.StartTime.Time), "Took"
	}
	if len(others) == 1 {
		return fmt.Sprintf("%s %s. The only other run known to have completed took %s.", verb, answer.Span(took), answer.Span(others[0]))
	}
	slower, _ := slices.BinarySearch(others, took)
	return fmt.Sprintf("%s %s, longer than %d of the %d other runs known to have completed. Half of them took %s or less, the longest %s.",
		verb, answer.Span(took), slower, len(others), answer.Span(others[(len(others)-1)/2]), answer.Span(others[len(others)-1]))
}

// Plot is a picture of durations over time. Its numbers are in a box of Width and Height.
type Plot struct {
	Width, Height int
	// Left and Bottom are where the axes are.
	Left, Bottom int
	Points       []Point
	// Longest, First and Last label the axes.
	Longest, First, Last string
	// Summary says in words what the plot shows.
	Summary string
}

// Point is a run in a plot.
type Point struct {
	X, Y  int
	Kind  Kind
	Label string
	// Marked says that it is the run that the plot is shown for.
	Marked bool
}

// Sign is the shape of the point.
func (p Point) Sign() string { return p.Kind.Sign() }

// maxPoints bounds a plot: a person sees no more.
const maxPoints = 200

// NewPlot returns the plot of durations, the latest of them. marked is the Job of a run, or empty. Times are evenly apart
// where few minutes or many days lie between them.
func NewPlot(clock answer.Clock, durations []Duration, marked string) Plot {
	plot := Plot{Width: 640, Height: 180, Left: 56, Bottom: 156}
	durations = durations[max(len(durations)-maxPoints, 0):]
	if len(durations) == 0 {
		return plot
	}
	longest := slices.MaxFunc(durations, func(a, b Duration) int { return cmp.Compare(a.Took, b.Took) }).Took
	const top, right = 14, 12
	counts := map[Kind]int{}
	for n, one := range durations {
		x := plot.Left + right + (plot.Width-plot.Left-2*right)*n/max(len(durations)-1, 1)
		y := plot.Bottom - int(float64(plot.Bottom-top)*float64(one.Took)/float64(max(longest, 1)))
		label := fmt.Sprintf("%s: %s after %s", clock.Short(one.At), one.Kind, answer.Span(one.Took))
		plot.Points = append(plot.Points, Point{x, y, one.Kind, label, marked != "" && one.Job == marked})
		counts[one.Kind]++
	}
	plot.Longest, plot.First, plot.Last = answer.Span(longest), clock.Short(durations[0].At), clock.Short(durations[len(durations)-1].At)
	var parts []string
	for _, kind := range Kinds {
		if counts[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
		}
	}
	plot.Summary = fmt.Sprintf("Durations of %d runs from %s to %s: %s. The longest took %s.", len(durations), plot.First, plot.Last, strings.Join(parts, ", "), plot.Longest)
	return plot
}
