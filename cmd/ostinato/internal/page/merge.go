package page

import (
	"slices"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/ledger"
)

// OfStatus is what the object alone says about its times.
func OfStatus(cronJob *ostinatov1.CronJob) Known {
	rows := cronJob.Status.RecentRuns
	return Known{Ledger: answer.Ledger{Rows: rows, Whole: len(rows) < ledger.MaxRecentRuns}}
}

// With joins the rows of the status, which are new, with older ones that were read from the ledger before. ok is false where
// rows between them may be missing, or where an old one may have changed: then the ledger is to be read again.
func (k Known) With(read Known, settled bool) (joined Known, ok bool) {
	if k.Whole {
		return k, true
	}
	// The oldest row of the status may be a backfill of a time before those that were read.
	for back := len(k.Rows) - 1; back >= 0; back-- {
		n := slices.IndexFunc(read.Rows, sameAs(k.Rows[back]))
		if n < 0 {
			continue
		}
		older := slices.DeleteFunc(slices.Clone(read.Rows[n+1:]), func(row ostinatov1.RecentRun) bool { return slices.ContainsFunc(k.Rows, sameAs(row)) })
		joined = Known{Since: read.Since, Ledger: answer.Ledger{Rows: slices.Concat(k.Rows, older), Whole: read.Whole}}
		return joined, settled || !slices.ContainsFunc(older, open)
	}
	return k, false
}

// sameAs finds the row of the same time, as it may have become since.
func sameAs(row ostinatov1.RecentRun) func(ostinatov1.RecentRun) bool {
	return func(other ostinatov1.RecentRun) bool {
		return other.ScheduledTime.Equal(&row.ScheduledTime) && other.Manual == row.Manual
	}
}

// open reports whether a row may still change.
func open(row ostinatov1.RecentRun) bool {
	kind := KindOf(row)
	return kind == Running || kind == Waiting
}
