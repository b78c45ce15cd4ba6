package answer

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

// Table is a heading and rows of the same length.
type Table struct {
	Head []string
	Rows [][]string
}

// Write writes the table in columns. Control characters, which a message may hold, are left out.
func (t Table) Write(out io.Writer, heading bool) error {
	aligned := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if heading {
		if _, err := fmt.Fprintln(aligned, strings.Join(t.Head, "\t")); err != nil {
			return err
		}
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for n, cell := range row {
			cells[n] = cmp.Or(Printable(cell), "-")
		}
		if _, err := fmt.Fprintln(aligned, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return aligned.Flush()
}

// Printable is a text in one line that moves no cursor.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// CronJobs is the table of get, with the namespace where several are asked for.
func CronJobs(clock Clock, cronJobs []ostinatov1.CronJob, namespaces, wide bool) Table {
	table := Table{Head: []string{"NAME", "SCHEDULE", "SUSPEND", "ACTIVE", "LAST RUN", "RESULT", "NEXT", "OUTCOMES"}}
	if wide {
		table.Head = append(table.Head, "TIMEZONE", "POLICY", "WAITING", "FAILURES")
	}
	for _, cronJob := range cronJobs {
		status := cronJob.Status
		row := []string{
			cronJob.Name, cronJob.Spec.Schedule, fmt.Sprint(ptr.Deref(cronJob.Spec.Suspend, false)), fmt.Sprint(status.ActiveCount),
			ago(clock, lastRun(status)), lastResult(&cronJob), next(clock, status), Strip(status.RecentRuns),
		}
		if wide {
			row = append(row, ptr.Deref(cronJob.Spec.TimeZone, ""), string(cronJob.Spec.ConcurrencyPolicy),
				fmt.Sprint(status.Queued), fmt.Sprint(status.ConsecutiveFailures))
		}
		table.Rows = append(table.Rows, row)
	}
	return table.in(namespaces, len(cronJobs), func(n int) string { return cronJobs[n].Namespace })
}

// lastResult is how the run that started last has ended, or what it does.
func lastResult(cronJob *ostinatov1.CronJob) string {
	if _, isStuck := stuck(cronJob); isStuck && cronJob.Status.LastResult == "Running" {
		return resultStuck
	}
	return cronJob.Status.LastResult
}

// in puts a column of namespaces before the others.
func (t Table) in(namespaces bool, rows int, namespace func(n int) string) Table {
	if !namespaces {
		return t
	}
	t.Head = append([]string{"NAMESPACE"}, t.Head...)
	for n := range rows {
		t.Rows[n] = append([]string{namespace(n)}, t.Rows[n]...)
	}
	return t
}

// lastRun is when a run was last created, of those that the status names.
func lastRun(status ostinatov1.CronJobStatus) time.Time {
	last := timeOf(status.LastScheduleTime)
	for _, row := range status.RecentRuns {
		if started := timeOf(row.StartTime); started.After(last) {
			last = started
		}
	}
	return last
}

func ago(clock Clock, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock.Ago(t)
}

func next(clock Clock, status ostinatov1.CronJobStatus) string {
	if due := timeOf(status.NextScheduleTime); !due.IsZero() {
		return clock.Ago(due)
	}
	return status.Next
}

// Runs is the table of a CronJob's ledger, newest first.
func Runs(clock Clock, rows []ostinatov1.RecentRun) Table {
	table := Table{Head: []string{"", "TIME", "OUTCOME", "RESULT", "TOOK", "JOB", "WHY"}}
	for _, row := range rows {
		table.Rows = append(table.Rows, []string{
			Sign(row), timesOf(clock, row), row.Outcome, result(row), took(clock, row), row.JobName, details(row),
		})
	}
	return table
}

// timesOf shows the time of a row, or those that it stands for.
func timesOf(clock Clock, row ostinatov1.RecentRun) string {
	shown := clock.Short(row.ScheduledTime.Time)
	if row.Until != nil {
		shown += " to " + clock.Short(row.Until.Time)
	}
	if row.Count > 1 {
		shown += fmt.Sprintf(" (%d times)", row.Count)
	}
	return shown
}

func result(row ostinatov1.RecentRun) string {
	switch {
	case row.Result == "" && ledger.Outcome(row.Outcome).HasJob():
		return "Running"
	case row.FailedAttempts > 0:
		return fmt.Sprintf("%s, %d failed", row.Result, row.FailedAttempts)
	}
	return row.Result
}

// took is how long a run took, or how long it has run.
func took(clock Clock, row ostinatov1.RecentRun) string {
	began, ended := timeOf(row.StartTime), timeOf(row.EndTime)
	switch {
	case began.IsZero():
		return ""
	case ended.IsZero():
		return Span(clock.Now.Sub(began))
	}
	return Span(ended.Sub(began))
}

// details are the reason and message of a row, and who asked for it.
func details(row ostinatov1.RecentRun) string {
	var parts []string
	for _, part := range []string{cmp.Or(row.Reason, strings.TrimSpace(row.ResultReason+" "+row.Stopped)), row.Message, row.Changed} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if row.Manual {
		parts = append(parts, asked(row))
	}
	return strings.Join(parts, ": ")
}

// asked says who has asked for a manual run.
func asked(row ostinatov1.RecentRun) string {
	text := "asked for"
	if who := ledger.Who(row.User, row.By); who != "" {
		text += " by " + who
	}
	if row.Through != "" {
		text += " through " + row.Through
	}
	return text
}

// Due is a time that is to come, or many times of one CronJob.
type Due struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"cronJob"`
	At        time.Time `json:"time"`
	// Times is how many there are from At until the last of them, Until; 0 for one.
	Times int        `json:"times,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Note says why it may not run, such as that the CronJob is suspended.
	Note string `json:"note,omitempty"`
}

// Timeline is the table of times that are to come.
func Timeline(clock Clock, due []Due, namespaces bool) Table {
	table := Table{Head: []string{"TIME", "IN", "CRONJOB", "NOTE"}}
	for _, one := range due {
		note := one.Note
		if one.Times > 0 {
			note = strings.TrimSuffix(fmt.Sprintf("and %d more until %s; %s", one.Times-1, clock.Short(*one.Until), note), "; ")
		}
		table.Rows = append(table.Rows, []string{clock.Short(one.At), Span(one.At.Sub(clock.Now)), one.Name, note})
	}
	return table.in(namespaces, len(due), func(n int) string { return due[n].Namespace })
}
