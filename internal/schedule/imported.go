package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// ImportAnswer says what becomes of the rows of an export.
type ImportAnswer struct {
	// Imported is how many are in the ledger now, marked as imported, and were not before.
	Imported int `json:"imported"`
	// Known is how many the ledger had.
	Known int `json:"known"`
	// NoRoom is how many are older than what the ledger has room for.
	NoRoom int `json:"noRoom,omitempty"`
	// Refused is how many the ledger does not take. Why says why it does not take the first of them.
	Refused int    `json:"refused,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Import returns the state with the rows of an export that its ledger lacks. They may be forged: nothing is decided by them, and none
// is of what the state has still to decide.
func Import(state State, rows []ledger.Entry, now time.Time) (State, ImportAnswer) {
	var answer ImportAnswer
	state.Ledger, answer.Imported, answer.Known = state.Ledger.Import(rows, func(row ledger.Entry) (ledger.Entry, bool) {
		why := state.whyNotImported(row, now)
		if why != "" {
			answer.Refused, answer.Why = answer.Refused+1, cmp.Or(answer.Why, why)
		}
		return state.ended(row), why == ""
	})
	answer.NoRoom = len(rows) - answer.Imported - answer.Known - answer.Refused
	return state, answer
}

// whyNotImported says why a row can't be that of a run or time that is over; empty if it can.
func (s State) whyNotImported(row ledger.Entry, now time.Time) string {
	hasJob := row.Outcome.HasJob()
	switch {
	case !slices.Contains(ledger.Outcomes, row.Outcome) || row.Outcome == ledger.Queued:
		return fmt.Sprintf("outcome %.40q is none of a run or time that is over", row.Outcome)
	case hasJob != (row.Job != "") || row.Result != "" && !(hasJob && slices.Contains(ledger.Results, row.Result)):
		return fmt.Sprintf("outcome %s does not go with Job %.40q and result %.40q", row.Outcome, row.Job, row.Result)
	case row.Last().Before(row.Scheduled) || hasJob && !row.Until.IsZero():
		return "a stretch of times that ends before it begins, or that has a Job"
	case row.Sequence < 0 || row.Sequence >= now.UnixMilli():
		return fmt.Sprintf("sequence %d is none that was given before", row.Sequence)
	case !row.Manual && row.Last().After(s.accounted()):
		return fmt.Sprintf("what becomes of %s is not settled", times.Format(row.Last()))
	case s.isOpen(row):
		return fmt.Sprintf("%s waits or runs, or was missed", times.Format(row.Scheduled))
	}
	for _, at := range []time.Time{row.Scheduled, row.Until, row.Recorded, row.Ended} {
		if at.After(now) || at.Before(times.Dawn) && !at.IsZero() || row.Scheduled.IsZero() {
			return fmt.Sprintf("%s is in the future or too long ago", times.Format(at))
		}
	}
	return ""
}

// isOpen reports whether the state has still to do with the run or times of a row.
func (s State) isOpen(row ledger.Entry) bool {
	// What has finished is over.
	s.Finished = nil
	return s.Knows(Run{Name: row.Job}) || s.trigger(row.Sequence) != nil || s.backfill(row.Sequence) != nil ||
		!row.Manual && slices.ContainsFunc(s.Calendar.Missed, func(missed MissedRuns) bool {
			return !missed.First.After(row.Last()) && !row.Scheduled.After(missed.Last)
		})
}

// ended returns the row of a run that is over with its end, which the export may not know.
func (s State) ended(row ledger.Entry) ledger.Entry {
	for _, finished := range s.Finished {
		if finished.Run.Name == row.Job {
			row = row.WithEnd(finished.end())
		}
	}
	return row.WithEnd(ledger.End{Result: ledger.Deleted})
}
