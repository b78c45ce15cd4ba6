package exported

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

// Known is what is known of a CronJob where a file is imported.
type Known struct {
	Object *ostinatov1.CronJob
	// Rows are those of its ledger, Dropped is how many older ones it has had.
	Rows        []ledger.Entry
	Dropped     int64
	Description protocol.CronJobDescription
	// Jobs are those that the CronJob controls.
	Jobs []batchv1.Job
}

// Request is what is to be asked for again: a trigger or a backfill.
type Request struct {
	// What names it for people, and ID for Temporal. The note has the ID, so that objects show it where Temporal's data is lost again.
	What, ID string
	Trigger  *protocol.TriggerRequest
	Backfill *schedule.BackfillRequest
	// Asked is the row that says that it was asked for again.
	Asked ledger.Entry
}

// Left is what waited and is not asked for again, and why.
type Left struct{ What, Why string }

// Why what waited is left.
const (
	leftWaiting  = "waits still"
	leftSettled  = "has its outcome, or was asked for again already"
	leftEdited   = "was of another schedule"
	leftUnproven = "may have run since the export, as the ledger does not reach back to that; look at its Jobs, and ask for it by hand"
)

// Waiting decides what of a line is to be asked for again. Each is asked for once, however often a file is imported, and only if the
// ledger shows all that has run since the export.
func (c CronJob) Waiting(known Known) (requests []Request, left []Left) {
	shows := known.since(c.Ledger)
	add := func(request Request, why string) {
		if why == "" && !shows {
			why = leftUnproven
		}
		if why == "" {
			requests = append(requests, request)
			return
		}
		left = append(left, Left{request.What, why})
	}
	for _, trigger := range c.Triggers {
		add(c.trigger(known, trigger))
	}
	for _, backfill := range c.Backfills {
		add(c.backfill(known, backfill))
	}
	return requests, left
}

// since reports whether the ledger has all rows since those of an export. One that began anew has the rows of the status, which is full
// if older ones were left out; imported rows were known before.
func (k Known) since(export []ledger.Entry) bool {
	own := slices.DeleteFunc(slices.Clone(k.Rows), func(row ledger.Entry) bool { return row.Imported || row.Outcome == ledger.Queued })
	last := newest(export)
	return k.Dropped == 0 && (len(own) < ledger.MaxRecentRuns || slices.ContainsFunc(own, func(row ledger.Entry) bool {
		return !knownAt(row).After(last)
	}))
}

// newest is when the last outcome of the rows was known; zero without one.
func newest(rows []ledger.Entry) (last time.Time) {
	for _, row := range rows {
		if row.Outcome != ledger.Queued {
			last = times.Later(last, knownAt(row))
		}
	}
	return last
}

func knownAt(row ledger.Entry) time.Time { return cmp.Or(row.Recorded, row.Last()) }

func (c CronJob) trigger(known Known, waited schedule.Trigger) (request Request, why string) {
	request = Request{
		What: "the trigger of " + times.Format(waited.At), ID: fmt.Sprint("import-trigger-", waited.Sequence),
		Trigger: &protocol.TriggerRequest{SignalNote: protocol.SignalNote{By: cmp.Or(waited.User, waited.By)}, Overlap: waited.Overlap},
		Asked:   again(waited.At.Truncate(time.Second), waited.Sequence, waited.Asked),
	}
	request.Trigger.Note = noted(waited.Note, request.ID)
	job := names.TriggeredJob(c.Name, c.UID, waited.Sequence)
	switch {
	case slices.ContainsFunc(known.Description.Triggers, func(other schedule.Trigger) bool { return other.Sequence == waited.Sequence }):
		why = leftWaiting
	case slices.ContainsFunc(c.rows(known), func(row ledger.Entry) bool {
		// A row from a status has no number.
		ofStatus := row.Sequence == 0 && row.Job == "" && row.Scheduled.Equal(waited.At.Truncate(time.Second))
		return row.Job == job || row.Manual && row.Outcome != ledger.Queued && (row.Sequence == waited.Sequence || ofStatus)
	}) || known.hasJob(job) || known.has(request.ID):
		why = leftSettled
	}
	return request, why
}

func (c CronJob) backfill(known Known, waited protocol.Backfill) (request Request, why string) {
	from := waited.Next
	ran := func(job string, scheduled time.Time) {
		if !scheduled.Before(from) && job == names.BackfilledJob(c.Name, c.UID, waited.Sequence, scheduled) {
			from = scheduled.Add(time.Second)
		}
	}
	settled := false
	for _, row := range c.rows(known) {
		ran(row.Job, row.Scheduled)
		// It was cancelled, or asked for again. A row from a status has no number.
		ofStatus := row.Sequence == 0 && row.Last().Equal(waited.Last)
		settled = settled || row.Manual && row.Outcome == ledger.SkippedSuperseded && (row.Sequence == waited.Sequence || ofStatus)
	}
	for _, job := range known.Jobs {
		if job.Annotations[names.BackfillAnnotation] == strconv.FormatInt(waited.Sequence, 10) {
			// One that can't be read names no Job.
			scheduled, _ := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
			ran(job.Name, scheduled)
		}
	}
	asked := ledger.Asked{By: waited.By, User: waited.User, Through: ledger.ThroughUpdate}
	request = Request{
		What: fmt.Sprintf("the backfill of %s to %s", times.Format(from), times.Format(waited.Last)), ID: fmt.Sprint("import-backfill-", waited.Sequence),
		Backfill: &schedule.BackfillRequest{
			From: from, To: waited.Last, Parallelism: waited.Parallelism, Overlap: batchv1.ConcurrencyPolicy(waited.Overlap),
			By: cmp.Or(waited.User, waited.By),
		},
		Asked: again(from, waited.Sequence, asked),
	}
	request.Backfill.Note = noted(waited.Note, request.ID)
	if waited.Last.After(from) {
		request.Asked.Until, request.Asked.Count = waited.Last, int64(waited.Times)
	}
	switch {
	case slices.ContainsFunc(known.Description.Backfills, func(other protocol.Backfill) bool { return other.Sequence == waited.Sequence }):
		why = leftWaiting
	case settled || from.After(waited.Last) || known.has(request.ID):
		why = leftSettled
	case known.Object.Spec.Schedule != c.Schedule || ptr.Deref(known.Object.Spec.TimeZone, "") != c.TimeZone:
		why = leftEdited
	}
	return request, why
}

// rows are those of the ledger and of the line.
func (c CronJob) rows(known Known) []ledger.Entry { return slices.Concat(known.Rows, c.Ledger) }

// hasJob reports whether there is a Job, or the status calls it active.
func (k Known) hasJob(name string) bool {
	if slices.ContainsFunc(k.Jobs, func(job batchv1.Job) bool { return job.Name == name }) {
		return true
	}
	for _, active := range k.Object.Status.Active {
		if active.Name == name {
			return true
		}
	}
	return false
}

// maxNote leaves room for an ID behind a note that a row of the ledger holds.
const maxNote = 200

// noted is a note with the ID of a request.
func noted(note, id string) string {
	return strings.TrimSpace(clip.Text(note, maxNote) + " (" + id + ")")
}

// has reports whether a row, or what waits, has the ID of a request in its note.
func (k Known) has(id string) bool {
	id = noted("", id)
	return slices.ContainsFunc(k.Rows, func(row ledger.Entry) bool { return strings.Contains(row.Message, id) }) ||
		slices.ContainsFunc(k.Description.Triggers, func(other schedule.Trigger) bool { return strings.Contains(other.Note, id) }) ||
		slices.ContainsFunc(k.Description.Backfills, func(other protocol.Backfill) bool { return strings.Contains(other.Note, id) })
}

// again is the row of what was asked for again.
func again(scheduled time.Time, sequence int64, asked ledger.Asked) ledger.Entry {
	return ledger.Entry{
		Scheduled: scheduled, Outcome: ledger.SkippedSuperseded, Reason: ledger.ReasonOutage, Message: "asked for again by ostinato import",
		Manual: true, Sequence: sequence, Asked: asked,
	}
}
