package ledger

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Question asks for a part of the ledger.
type Question struct {
	// Before is that of an earlier answer, for the rows before its rows. By default the newest rows come.
	Before int64 `json:"before,omitempty"`
	// Limit is the number of rows at most. The default is 50, the most is 300.
	Limit int `json:"limit,omitempty"`
	// Since is the first scheduled time, included. A row of several times counts if one of them may be within.
	Since time.Time `json:"since,omitzero"`
	// Until is the last scheduled time, included.
	Until time.Time `json:"until,omitzero"`
}

// Mistake says what the sender is to change; empty when nothing is.
func (q Question) Mistake() string {
	if q.Since.IsZero() || q.Until.IsZero() || !q.Until.Before(q.Since) {
		return ""
	}
	return fmt.Sprintf("since, %s, is after until, %s: exchange them", q.Since.UTC().Format(time.RFC3339), q.Until.UTC().Format(time.RFC3339))
}

// Page is part of a ledger, newest first.
type Page struct {
	Rows []Row `json:"rows"`
	// Before asks for the rows before these; 0 where there are none.
	Before int64 `json:"before,omitempty"`
	// Dropped is the number of older rows, which the ledger no longer has.
	Dropped int64 `json:"dropped,omitempty"`
	// Suspensions are the last ones, oldest first, whatever rows are asked for.
	Suspensions []Suspension `json:"suspensions,omitempty"`
}

// Row is an outcome, and how long the run took.
type Row struct {
	Entry
	// Duration is that of an ended run, such as 1m30s.
	Duration string `json:"duration,omitempty"`
}

// Page returns the entries that are asked for, among them those of what still waits. If entries are added meanwhile, a
// row may come twice, but none is left out.
func (l Ledger) Page(question Question, waiting []Entry) Page {
	all := slices.Concat(l.rows(), waiting)
	next := len(all)
	page := Page{Rows: []Row{}, Dropped: l.Dropped, Suspensions: l.Suspensions}
	if question.Before > 0 {
		next = int(min(max(question.Before-1-page.Dropped, 0), int64(next)))
	}
	for next--; next >= 0; next-- {
		if entry := all[next]; entry.Last().Before(question.Since) || !question.Until.IsZero() && entry.Scheduled.After(question.Until) {
			continue
		}
		if len(page.Rows) == max(question.Limit, 1) {
			// Two more than its index among all rows that there ever were: 0 asks for the newest.
			page.Before = page.Dropped + int64(next) + 2
			break
		}
		page.Rows = append(page.Rows, Row{all[next], all[next].Took()})
	}
	return page
}

// MaxRecentRuns bounds status.recentRuns.
const MaxRecentRuns = 10

// RecentRuns renders the last of the entries, newest first.
func RecentRuns(entries []Entry) []ostinatov1.RecentRun {
	var rows []ostinatov1.RecentRun
	for _, entry := range entries[max(len(entries)-MaxRecentRuns, 0):] {
		// The API server takes no row without a time, and then no status at all.
		if !entry.Scheduled.IsZero() {
			rows = append(rows, entry.RecentRun())
		}
	}
	slices.Reverse(rows)
	return rows
}

// RecentRun renders the entry as a row of the status.
func (e Entry) RecentRun() ostinatov1.RecentRun {
	e = e.Bounded()
	row := ostinatov1.RecentRun{
		ScheduledTime: metav1.NewTime(e.Scheduled.UTC().Truncate(time.Second)), Until: Timestamp(e.Until), Count: e.Count,
		Outcome: string(e.Outcome), Reason: e.Reason, Message: e.Message, Manual: e.Manual,
		JobName: e.Job, Result: string(e.Result), ResultReason: e.ResultReason, EndTime: Timestamp(e.Ended),
		FailedAttempts: e.FailedAttempts, By: e.By, User: e.User, Through: e.Through, Changed: e.Changed, Stopped: e.Stopped,
	}
	if e.Outcome.HasJob() {
		row.StartTime = Timestamp(e.Recorded)
	}
	return row
}

// entryOf is the inverse of RecentRun, but for when it was known that a run did not start.
func entryOf(row ostinatov1.RecentRun) Entry {
	entry := Entry{
		Scheduled: row.ScheduledTime.UTC(), Until: Time(row.Until), Count: row.Count, Recorded: Time(row.StartTime),
		Outcome: Outcome(row.Outcome), Reason: row.Reason, Message: row.Message, Manual: row.Manual,
		Job: row.JobName, Asked: Asked{By: row.By, User: row.User, Through: row.Through, Changed: row.Changed},
		End: End{Result(row.Result), row.ResultReason, row.Stopped, Time(row.EndTime), max(row.FailedAttempts, 0)},
	}
	return entry.Bounded()
}

// Restored returns the ledger with what the object's status has of it. The status is later than the ledger, which may have rows
// that the status has no room for.
func (l Ledger) Restored(status ostinatov1.CronJobStatus) Ledger {
	var entries []Entry
	for _, row := range slices.Backward(status.RecentRuns[:min(len(status.RecentRuns), MaxRecentRuns)]) {
		// A row that Ostinato has not written can't be written again.
		if slices.Contains(Outcomes, Outcome(row.Outcome)) {
			entries = append(entries, entryOf(row))
		}
	}
	// Times that waited, or whose start was unclear, and later ones without a Job are computed anew. A status without rows, as that of
	// a CronJob of batch/v1, says by its last run alone which those are.
	accounted := Time(status.AccountedUntil)
	if last := Time(status.LastScheduleTime); last.After(accounted) {
		accounted = last
	}
	isComputedAnew := func(e Entry) bool {
		later := !e.Manual && !e.Outcome.HasJob() && (status.AccountedUntil != nil || len(status.RecentRuns) == 0) && e.Scheduled.After(accounted)
		return e.Outcome == Queued || later
	}
	entries = slices.DeleteFunc(entries, isComputedAnew)
	for _, entry := range entries {
		if entry.Outcome.HasJob() && !entry.Manual {
			l = l.Without(entry.Scheduled)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(l.Entries), isComputedAnew)
	// later are the rows after the last one that the status has too.
	var later []Entry
	shared := false
	for i, entry := range slices.Backward(entries) {
		for at, former := range slices.Backward(rest) {
			if former.isRowOf(entry) {
				entries[i].Sequence, entries[i].Recorded, entries[i].Estimated = former.Sequence, former.Recorded, former.Estimated
				if !shared {
					shared, rest, later = true, rest[:at+1], slices.Clone(rest[at+1:])
				}
				rest = slices.Delete(rest, at, at+1)
				break
			}
		}
	}
	own := slices.Concat(rest, entries, later)
	return Ledger{Entries: own, Imported: l.Imported, Suspensions: l.Suspensions, Dropped: l.Dropped}.withoutTwins(own...).bound()
}

// Numbered returns the ledger with the number of a trigger in its row, which was restored from a status.
func (l Ledger) Numbered(row ostinatov1.RecentRun, sequence int64) Ledger {
	restored := entryOf(row)
	at := slices.IndexFunc(l.Entries, func(entry Entry) bool { return entry.Sequence == 0 && entry.isRowOf(restored) })
	if at >= 0 {
		l.Entries = slices.Clone(l.Entries)
		l.Entries[at].Sequence = sequence
	}
	return l
}

// isRowOf reports whether an entry of a status is about the same run, or the same stretch of times.
func (e Entry) isRowOf(row Entry) bool {
	if e.Outcome.HasJob() || row.Outcome.HasJob() {
		return e.Job == row.Job
	}
	return e.Outcome == row.Outcome && e.Manual == row.Manual && e.Scheduled.Truncate(time.Second).Equal(row.Scheduled)
}

// Timestamp renders a time as the API does: UTC, whole seconds, nil for zero.
func Timestamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

// Time is the inverse of Timestamp.
func Time(t *metav1.Time) time.Time { return ptr.Deref(t, metav1.Time{}).UTC() }
