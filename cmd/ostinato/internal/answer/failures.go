package answer

import (
	"cmp"
	"slices"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

// Failure is a run that failed, or could not be created.
type Failure struct {
	Namespace string               `json:"namespace"`
	CronJob   string               `json:"cronJob"`
	Run       ostinatov1.RecentRun `json:"run"`
}

// Failures are those of a CronJob since a time.
func Failures(cronJob *ostinatov1.CronJob, rows []ostinatov1.RecentRun, since time.Time) []Failure {
	var failures []Failure
	for _, row := range rows {
		if at := failedAt(row); !at.IsZero() && !at.Before(since) {
			failures = append(failures, Failure{cronJob.Namespace, cronJob.Name, row})
		}
	}
	return failures
}

// failedAt is when a row failed; zero where it did not.
func failedAt(row ostinatov1.RecentRun) time.Time {
	switch {
	case ledger.Result(row.Result) == ledger.Failed:
		return timeOf(row.EndTime)
	case ledger.Outcome(row.Outcome) == ledger.FailedToCreate && row.Until != nil:
		return row.Until.Time
	case ledger.Outcome(row.Outcome) == ledger.FailedToCreate:
		return row.ScheduledTime.Time
	}
	return time.Time{}
}

// MayHaveFailed reports whether a CronJob may have failed since a time in a run that its status does not name any more.
func MayHaveFailed(cronJob *ostinatov1.CronJob, since time.Time) bool {
	rows := cronJob.Status.RecentRuns
	last := timeOf(cronJob.Status.LastFailureTime)
	return len(rows) == ledger.MaxRecentRuns && !last.Before(since) && rows[len(rows)-1].ScheduledTime.Time.After(since)
}

// SortFailures puts the newest first.
func SortFailures(failures []Failure) {
	slices.SortStableFunc(failures, func(a, b Failure) int {
		return cmp.Or(failedAt(b.Run).Compare(failedAt(a.Run)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.CronJob, b.CronJob))
	})
}

// FailureTable is the table of failed.
func FailureTable(clock Clock, failures []Failure, namespaces bool) Table {
	table := Table{Head: []string{"FAILED", "CRONJOB", "TIME", "JOB", "WHY"}}
	for _, failure := range failures {
		table.Rows = append(table.Rows, []string{
			clock.Ago(failedAt(failure.Run)), failure.CronJob, clock.Short(failure.Run.ScheduledTime.Time), failure.Run.JobName, details(failure.Run),
		})
	}
	return table.in(namespaces, len(failures), func(n int) string { return failures[n].Namespace })
}
