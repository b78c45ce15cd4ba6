package page

import (
	"fmt"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// Kind is what became of a time. Each has a colour and a sign of its own.
type Kind string

// Kinds of times, those that a person looks for first.
const (
	Failed   Kind = "failed"
	Refused  Kind = "refused"
	Overdue  Kind = "overdue"
	Running  Kind = "running"
	Waiting  Kind = "waiting"
	Deleted  Kind = "deleted"
	Skipped  Kind = "skipped"
	Complete Kind = "complete"
	Upcoming Kind = "upcoming"
	// Held is a time to come that will not run as things are.
	Held Kind = "held"
)

// Kinds are all of them, in the order in which one of them stands for several.
var Kinds = []Kind{Failed, Refused, Overdue, Running, Waiting, Deleted, Skipped, Complete, Upcoming, Held}

// signs are those of answer.Strip, and three for times without an outcome.
var signs = map[Kind]string{
	Failed: "✗", Refused: "!", Running: "▸", Waiting: "…", Deleted: "⌫", Skipped: "–", Complete: "✓",
	Overdue: "?", Upcoming: "○", Held: "◌",
}

// Sign is the shape of a kind.
func (k Kind) Sign() string { return signs[k] }

// KindOf is the kind of a row.
func KindOf(row ostinatov1.RecentRun) Kind {
	sign := answer.Sign(row)
	for _, kind := range Kinds {
		if signs[kind] == sign {
			return kind
		}
	}
	return Refused
}

// Cell is what a row of the grid has in a column.
type Cell struct {
	// Kind is that of the time, or of the first in the order of Kinds if there are several; empty where there is none.
	Kind Kind
	// Count is the number of times.
	Count int64
	// From and To are the first and the last of the times.
	From, To time.Time
	// Label says in words what the cell shows.
	Label string
	// Unknown says that the cell may be empty only because its times have not been read.
	Unknown bool

	counts map[Kind]int64
}

// Sign is the shape of the cell.
func (c Cell) Sign() string { return c.Kind.Sign() }

// Several says that the cell stands for more than one time.
func (c Cell) Several() bool { return c.Count > 1 }

// add puts a time, or some that share a row, into the cell.
func (c Cell) add(kind Kind, from, to time.Time, count int64, label string) Cell {
	counts := map[Kind]int64{kind: count}
	for known, n := range c.counts {
		counts[known] += n
	}
	if c.Count == 0 || from.Before(c.From) {
		c.From = from
	}
	if to.After(c.To) {
		c.To = to
	}
	c.Count, c.counts, c.Label = c.Count+count, counts, label
	for _, first := range Kinds {
		if counts[first] > 0 {
			c.Kind = first
			break
		}
	}
	return c
}

// summed gives a cell of several times words that count them.
func (c Cell) summed(clock answer.Clock) Cell {
	if len(c.counts) == 0 || c.Count < 2 {
		return c
	}
	var parts []string
	for _, kind := range Kinds {
		if c.counts[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.counts[kind], kind))
		}
	}
	c.Label = fmt.Sprintf("%s to %s: %s", clock.Short(c.From), clock.Short(c.To), strings.Join(parts, ", "))
	return c
}

// labelOf says in one line what became of a row.
func labelOf(clock answer.Clock, row ostinatov1.RecentRun) string {
	cells := answer.Runs(clock, []ostinatov1.RecentRun{row}).Rows[0]
	when, outcome, result, took, why := cells[1], cells[2], cells[3], cells[4], cells[6]
	text := when + ": " + outcome
	if result != "" {
		text += ", " + result
	}
	if took != "" {
		text += ", took " + took
	}
	if why != "" {
		text += ". " + why
	}
	return answer.Printable(text)
}
