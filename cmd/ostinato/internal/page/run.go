package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/protocol"
)

// Fact is a name and what it has.
type Fact struct{ Name, Value string }

// Run is what a cell opens: a time of a CronJob.
type Run struct {
	Namespace, Name string
	At              time.Time
	When            string
	Kind            Kind
	// Why is the paragraph of `ostinato why`.
	Why   string
	Facts []Fact
	// Job is the name of the run's Job, empty where there is none.
	Job string
	// History compares how long it took with others, and Plot shows it among them.
	History string
	Plot    Plot
	// Attempts are what is kept of Pods that failed; Evidence says why there is none, or what is left out.
	Attempts []string
	Evidence string
	// Link is where Temporal's own UI shows it, empty where that is not known.
	Link string
}

// Sign is the shape of the run's kind.
func (r Run) Sign() string { return r.Kind.Sign() }

// NewRun returns what is known of a time of a CronJob.
func NewRun(clock answer.Clock, cronJob *ostinatov1.CronJob, known answer.Ledger, at time.Time) Run {
	run := Run{
		Namespace: cronJob.Namespace, Name: cronJob.Name, At: at, When: clock.Time(at), Kind: Overdue,
		Why: answer.Why(clock, cronJob, known, at).Text,
	}
	if at.After(clock.Now) {
		run.Kind = Upcoming
	}
	row := known.RowOf(at)
	if row == nil {
		return run
	}
	run.Kind, run.Job = KindOf(*row), row.JobName
	run.Facts = facts(clock, answer.Told(clock, cronJob, []ostinatov1.RecentRun{*row})[0])
	if row.JobName != "" {
		durations := Durations(known.Rows)
		run.History = History(clock, *row, durations)
		run.Plot = NewPlot(clock, durations, row.JobName)
	}
	return run
}

func facts(clock answer.Clock, row ostinatov1.RecentRun) []Fact {
	cells := answer.Runs(clock, []ostinatov1.RecentRun{row}).Rows[0]
	var shown []Fact
	for n, name := range []string{"", "Time", "Outcome", "Result", "Took", "Job", "Why"} {
		if name != "" && cells[n] != "" {
			shown = append(shown, Fact{name, answer.Printable(cells[n])})
		}
	}
	return shown
}

// Failed reports whether Pods of the run may have failed. The workflow of its Job keeps evidence of those.
func (r Run) Failed() bool { return r.Job != "" && r.Kind != Complete }

// Running reports whether the run has begun and its end is not known.
func (r Run) Running() bool { return r.Job != "" && r.Kind == Running }

// WithEvidence adds what the Job's workflow has kept, or why it could not be read.
func (r Run) WithEvidence(clock answer.Clock, kept protocol.JobDescription, err error) Run {
	switch {
	case err != nil:
		r.Evidence = "What the workflow of the Job has kept could not be read: " + answer.Printable(err.Error())
		return r
	case len(kept.Attempts) == 0:
		r.Evidence = "None of its Pods has failed."
	case kept.AttemptsOmitted > 0:
		r.Evidence = fmt.Sprintf("%d Pods that failed before are not kept.", kept.AttemptsOmitted)
	}
	for _, attempt := range kept.Attempts {
		r.Attempts = append(r.Attempts, answer.Attempt(clock, attempt))
	}
	if kept.Waiting != "" {
		r.Facts = append(r.Facts, Fact{"Waits for", answer.Printable(kept.Waiting)})
	}
	return r
}

// Times are those of a cell that stands for several, the newest first.
type Times struct {
	Namespace, Name, From, To string
	Rows                      []Time
}

// Time is one of Times.
type Time struct {
	At    time.Time
	Kind  Kind
	Label string
}

// Sign is the shape of the time's kind.
func (t Time) Sign() string { return t.Kind.Sign() }

// NewTimes returns the rows of a CronJob between two times, both included, and the times to come.
func NewTimes(clock answer.Clock, cronJob *ostinatov1.CronJob, known answer.Ledger, from, to time.Time) Times {
	times := Times{Namespace: cronJob.Namespace, Name: cronJob.Name, From: clock.Short(from), To: clock.Short(to)}
	doubt := answer.Doubt(cronJob)
	for _, at := range slices.Backward(answer.Upcoming(cronJob, latest(from, clock.Now), to, maxDue)) {
		kind, label := Upcoming, clock.Short(at)+": due "+clock.Ago(at)
		if doubt != "" {
			kind, label = Held, label+", "+answer.Printable(doubt)
		}
		times.Rows = append(times.Rows, Time{at, kind, label})
	}
	for _, row := range known.Rows {
		last := row.ScheduledTime.Time
		if row.Until != nil {
			last = row.Until.Time
		}
		if !row.ScheduledTime.After(to) && !last.Before(from) {
			times.Rows = append(times.Rows, Time{latest(row.ScheduledTime.Time, earliest(from, last)), KindOf(row), labelOf(clock, row)})
		}
	}
	return times
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// TemporalUI is where Temporal's own UI is: the address that was given, or that of Temporal Cloud where it is asked; empty
// where none is known.
func TemporalUI(given, temporal string) string {
	if given == "" && strings.HasSuffix(strings.SplitN(temporal, ":", 2)[0], ".tmprl.cloud") {
		given = "https://cloud.temporal.io"
	}
	return strings.TrimSuffix(given, "/")
}

// WorkflowLink is where the UI at an address shows a workflow; empty where there is no address.
func WorkflowLink(ui string, workflow ostinatov1.WorkflowReference) string {
	if ui == "" || workflow.ID == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", ui, escape(cmp.Or(workflow.Namespace, "default")), escape(workflow.ID))
}
