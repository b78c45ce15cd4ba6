package schedule

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// MaxRecentRuns bounds status.recentRuns.
const MaxRecentRuns = 10

// StatusRecorded returns the status with the outcome of a start in it. It is pure and
// idempotent; the status passed in is not changed.
func StatusRecorded(status ostinatov1.CronJobStatus, start Start, run Run) ostinatov1.CronJobStatus {
	entry := start.entry(start.run(run), run.Started)
	known := slices.ContainsFunc(status.RecentRuns, func(row ostinatov1.RecentRun) bool { return row.JobName == entry.Job })
	if known || start.Scheduled.IsZero() {
		return status
	}
	rows := append([]ostinatov1.RecentRun{entry.row()}, status.RecentRuns...)
	status.RecentRuns = rows[:min(len(rows), MaxRecentRuns)]
	status.LastOutcome, status.LastResult = string(entry.Outcome), resultRunning
	return status
}

// rows renders the last entries, newest first.
func rows(ledger []LedgerEntry) []ostinatov1.RecentRun {
	var rows []ostinatov1.RecentRun
	for _, entry := range ledger[max(len(ledger)-MaxRecentRuns, 0):] {
		// The API server takes no row without a time, and then no status at all.
		if !entry.Scheduled.IsZero() {
			rows = append(rows, entry.row())
		}
	}
	slices.Reverse(rows)
	return rows
}

func (e LedgerEntry) row() ostinatov1.RecentRun {
	e = e.bounded()
	row := ostinatov1.RecentRun{
		ScheduledTime: metav1.NewTime(e.Scheduled.UTC().Truncate(time.Second)), Until: timestamp(e.Until), Count: e.Count,
		Outcome: string(e.Outcome), Reason: e.Reason, Message: e.Message, Manual: e.Manual,
		JobName: e.Job, Result: string(e.Result), ResultReason: e.ResultReason, EndTime: timestamp(e.Ended),
		FailedAttempts: e.FailedAttempts, By: e.By, Through: e.Through, Changed: e.Changed,
	}
	if e.Outcome.HasJob() {
		row.StartTime = timestamp(e.Recorded)
	}
	return row
}

// entryOf is the inverse of row, but for when it was known that a run did not start.
func entryOf(row ostinatov1.RecentRun) LedgerEntry {
	entry := LedgerEntry{
		Scheduled: row.ScheduledTime.UTC(), Until: timeOf(row.Until), Count: max(row.Count, 0), Recorded: timeOf(row.StartTime),
		Outcome: LedgerOutcome(row.Outcome), Reason: row.Reason, Message: row.Message, Manual: row.Manual,
		Job: row.JobName, Result: RunResult(row.Result), ResultReason: row.ResultReason, Ended: timeOf(row.EndTime),
		FailedAttempts: max(row.FailedAttempts, 0), Asked: Asked{By: row.By, Through: row.Through, Changed: row.Changed},
	}
	return entry.bounded()
}

// takeRows goes on with what the object's status has of the ledger.
func (s *State) takeRows(status ostinatov1.CronJobStatus) {
	for _, row := range status.RecentRuns[:min(len(status.RecentRuns), MaxRecentRuns)] {
		// A row that Ostinato has not written can't be written again.
		if slices.Contains(Outcomes, LedgerOutcome(row.Outcome)) {
			s.Ledger = append(s.Ledger, entryOf(row))
		}
	}
	s.Ledger = withoutQueue(s.Ledger, timeOf(status.AccountedUntil))
	slices.Reverse(s.Ledger)
	s.LastFailure, s.ConsecutiveFailures = timeOf(status.LastFailureTime), max(status.ConsecutiveFailures, 0)
}

// withoutQueue leaves out the runs that waited and, since times are computed anew from the
// oldest of them on, what was said of later times that have no Job.
func withoutQueue(rows []LedgerEntry, accounted time.Time) []LedgerEntry {
	if !slices.ContainsFunc(rows, func(e LedgerEntry) bool { return e.Outcome == Queued }) {
		return rows
	}
	return slices.DeleteFunc(rows, func(e LedgerEntry) bool {
		return e.Outcome == Queued || !e.Manual && !e.Outcome.HasJob() && e.Scheduled.After(accounted)
	})
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
