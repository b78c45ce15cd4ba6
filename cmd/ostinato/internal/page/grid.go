package page

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/times"
)

// Known is what is known of a CronJob's times.
type Known struct {
	answer.Ledger
	// Since is the time since which no row is missing; zero where that is not known.
	Since time.Time
}

// Row is a CronJob in the grid.
type Row struct {
	Namespace, Name string
	// Next says when the next run is due, or why none is.
	Next string
	// Marks are what is not as it should be, the most urgent first.
	Marks []Mark
	// Cells are one for each column.
	Cells []Cell
	// Partial says that times on the screen may be missing, since the rows that are known do not reach back to them.
	Partial bool
}

// Mark is a way in which a CronJob is not as it should be.
type Mark struct {
	Kind, Why string
	Wrong     bool
}

// ID names the row.
func (r Row) ID() string { return r.Namespace + "/" + r.Name }

// NewRow returns the row of a CronJob.
func NewRow(clock answer.Clock, cronJob *ostinatov1.CronJob, known Known, columns []Column) Row {
	row := Row{Namespace: cronJob.Namespace, Name: cronJob.Name, Cells: make([]Cell, len(columns)), Partial: Partial(cronJob, known, columns)}
	for _, deviation := range answer.Deviations(clock, cronJob) {
		row.Marks = append(row.Marks, Mark{deviation.Kind, answer.Printable(deviation.Why), deviation.Wrong()})
	}
	row.Next = nextOf(clock, cronJob)
	for n := range known.Rows {
		row.put(clock, cronJob, known.Rows[n], columns)
	}
	row.putDue(clock, cronJob, columns)
	begun := begin(known.Rows)
	if !known.Since.IsZero() {
		begun = earliest(begun, known.Since)
	}
	for n := range row.Cells {
		row.Cells[n] = row.Cells[n].summed(clock)
		unread := row.Partial && columns[n].From.Before(begun) && columns[n].To.After(cronJob.CreationTimestamp.Time)
		row.Cells[n].Unknown = unread && row.Cells[n].Kind == ""
	}
	return row
}

// Partial reports whether times in the columns may be missing from the rows that are known.
func Partial(cronJob *ostinatov1.CronJob, known Known, columns []Column) bool {
	if known.Whole || len(columns) == 0 || cronJob.Status.Workflow == nil {
		return false
	}
	from := columns[0].From
	return begin(known.Rows).After(from) && (known.Since.IsZero() || known.Since.After(from))
}

// begin is the first time of rows, and the end of all times where there is none. A backfill of long ago says nothing of the
// times since.
func begin(rows []ostinatov1.RecentRun) time.Time {
	first := time.Unix(1<<40, 0)
	for _, row := range rows {
		if at := row.ScheduledTime.Time; !row.Manual && at.Before(first) {
			first = at
		}
	}
	return first
}

// put adds a row of the ledger to the cells of its times.
func (r *Row) put(clock answer.Clock, cronJob *ostinatov1.CronJob, row ostinatov1.RecentRun, columns []Column) {
	kind, at := KindOf(row), row.ScheduledTime.Time
	if row.Until == nil {
		if n := columnOf(columns, at); n >= 0 {
			r.Cells[n] = r.Cells[n].add(kind, at, at, 1, labelOf(clock, row))
		}
		return
	}
	label := labelOf(clock, row)
	for _, within := range spread(cronJob, at, row.Until.Time, columns) {
		n := columnOf(columns, within.from)
		r.Cells[n] = r.Cells[n].add(kind, within.from, within.to, within.count, label)
	}
}

// part is what a stretch of times has in one column.
type part struct {
	from, to time.Time
	count    int64
}

// spread returns what a stretch has in each column: the times that the schedule, as it is now, names in it. Where it can't be
// read, or names none of them, only the ends of the stretch are certain.
func spread(cronJob *ostinatov1.CronJob, first, last time.Time, columns []Column) []part {
	var parts []part
	add := func(at time.Time) {
		n := columnOf(columns, at)
		switch {
		case n < 0:
		case len(parts) > 0 && columnOf(columns, parts[len(parts)-1].from) == n:
			parts[len(parts)-1].to = at
			parts[len(parts)-1].count++
		default:
			parts = append(parts, part{at, at, 1})
		}
	}
	calculator, problem := times.Parse(cronJob.Spec.Schedule, ptr.To(ptr.Deref(cronJob.Spec.TimeZone, "UTC")))
	if problem != nil || !calculator.Prescribes(first) {
		add(first)
		add(last)
		return parts
	}
	at := first
	if begins := columns[0].From.Add(-time.Second); begins.After(at) {
		at = calculator.Next(begins)
	}
	for ; !at.IsZero() && !at.After(last) && at.Before(columns[len(columns)-1].To); at = calculator.Next(at) {
		add(at)
	}
	return parts
}

// putDue adds the times that have no outcome yet: one that is overdue, and those that are to come.
func (r *Row) putDue(clock answer.Clock, cronJob *ostinatov1.CronJob, columns []Column) {
	suspended := ptr.Deref(cronJob.Spec.Suspend, false)
	if due := cronJob.Status.NextScheduleTime; due != nil && !suspended && due.Time.Before(clock.Now.Add(-overdueAfter)) {
		if n := columnOf(columns, due.Time); n >= 0 {
			r.Cells[n] = r.Cells[n].add(Overdue, due.Time, due.Time, 1, clock.Short(due.Time)+": due, and without an outcome")
		}
	}
	for n, column := range columns {
		if !column.To.After(clock.Now) {
			continue
		}
		from := column.From
		if from.Before(clock.Now) {
			from = clock.Now
		}
		doubt := answer.Doubt(cronJob)
		for _, at := range answer.Upcoming(cronJob, from, column.To.Add(-time.Second), maxDue) {
			kind, label := Upcoming, clock.Short(at)+": due "+clock.Ago(at)
			if doubt != "" {
				kind, label = Held, clock.Short(at)+": will not run: "+doubt
			}
			r.Cells[n] = r.Cells[n].add(kind, at, at, 1, answer.Printable(label))
		}
	}
}

const (
	// overdueAfter is how late a time is before it is shown so.
	overdueAfter = time.Second
	// maxDue bounds the times to come of a column.
	maxDue = 180
)

// nextOf says when the next run is due, or why none is.
func nextOf(clock answer.Clock, cronJob *ostinatov1.CronJob) string {
	if due := cronJob.Status.NextScheduleTime; due != nil {
		return clock.Ago(due.Time)
	}
	return answer.Printable(cronJob.Status.Next)
}

// Count is a line that sums up CronJobs.
func Count(clock answer.Clock, cronJobs []ostinatov1.CronJob, shown int) string {
	_, _, summary := answer.Status(clock, cronJobs, false)
	if shown != len(cronJobs) {
		summary = fmt.Sprintf("%d shown of %s", shown, summary)
	}
	return summary
}
