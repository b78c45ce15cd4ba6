package page

import (
	"time"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// Zoom is how much time the grid shows before and after now, and how much of it a column has.
type Zoom struct {
	Name                 string
	Past, Future, Column time.Duration
	// labelled is how far apart the columns are that show their time.
	labelled time.Duration
}

// Zooms are those that a person may choose; the page begins with the night.
var Zooms = []Zoom{
	{"1h", time.Hour, 10 * time.Minute, time.Minute, 10 * time.Minute},
	{"4h", 4 * time.Hour, 40 * time.Minute, 5 * time.Minute, 30 * time.Minute},
	{"12h", 12 * time.Hour, 2 * time.Hour, 15 * time.Minute, 2 * time.Hour},
	{"24h", 24 * time.Hour, 4 * time.Hour, 30 * time.Minute, 4 * time.Hour},
	{"7d", 7 * 24 * time.Hour, 24 * time.Hour, 3 * time.Hour, 24 * time.Hour},
}

// ZoomOf returns the zoom of a name, or that of the night.
func ZoomOf(name string) Zoom {
	night := Zooms[0]
	for _, zoom := range Zooms {
		if zoom.Name == name {
			return zoom
		}
		if zoom.Name == "12h" {
			night = zoom
		}
	}
	return night
}

// Column is a stretch of time: From is in it, To is not.
type Column struct {
	From, To time.Time
	// Label is its time where it has room for one; Name is its time for a person who does not see the columns.
	Label, Name string
	// Now says that it has the present.
	Now bool
}

// Columns cuts the time around now. They begin at whole multiples of their length since midnight, so that they stay where
// they are while time passes.
func (z Zoom) Columns(clock answer.Clock) []Column {
	now := clock.Now.In(clock.Zone)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, clock.Zone)
	first := now.Add(-z.Past).Sub(midnight)
	from := midnight.Add(first.Truncate(z.Column))
	if from.After(now.Add(-z.Past)) {
		from = from.Add(-z.Column)
	}
	var columns []Column
	for ; from.Before(now.Add(z.Future)); from = from.Add(z.Column) {
		column := Column{From: from, To: from.Add(z.Column), Name: clock.Short(from)}
		column.Now = !now.Before(column.From) && now.Before(column.To)
		column.Label = z.label(from)
		columns = append(columns, column)
	}
	return columns
}

// label is the time of a column, or the day that begins with it; empty where the one before has its own still.
func (z Zoom) label(from time.Time) string {
	clock := time.Duration(from.Hour())*time.Hour + time.Duration(from.Minute())*time.Minute
	switch {
	case clock%z.labelled >= z.Column:
		return ""
	case clock < z.Column:
		return from.Format("Mon 2")
	}
	return from.Format("15:04")
}

// column returns the index of the column of a time; -1 where none has it.
func columnOf(columns []Column, at time.Time) int {
	if len(columns) == 0 || at.Before(columns[0].From) || !at.Before(columns[len(columns)-1].To) {
		return -1
	}
	return int(at.Sub(columns[0].From) / columns[0].To.Sub(columns[0].From))
}
