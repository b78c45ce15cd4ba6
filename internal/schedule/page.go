package schedule

import (
	"fmt"
	"slices"
	"time"
)

// Question asks for a part of the ledger.
type Question struct {
	// Before is an earlier Page's, for the rows before those; 0 for the newest.
	Before int64 `json:"before,omitempty"`
	// Limit is how many rows there are to be at most.
	Limit int `json:"limit,omitempty"`
	// Since and Until bound the scheduled times, both included; of a stretch a row is of
	// interest where one of its times may be. Zero is no bound.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Mistake says what the sender is to change; empty when nothing is.
func (q Question) Mistake() string {
	if q.Since.IsZero() || q.Until.IsZero() || !q.Until.Before(q.Since) {
		return ""
	}
	return fmt.Sprintf("since, %s, is after until, %s: exchange them", clock(q.Since), clock(q.Until))
}

// asksFor reports whether an entry is within the bounds.
func (q Question) asksFor(entry LedgerEntry) bool {
	return !entry.last().Before(q.Since) && (q.Until.IsZero() || !entry.Scheduled.After(q.Until))
}

// Page is part of a ledger, newest first.
type Page struct {
	Rows []LedgerEntry
	// Before asks for the rows before these; 0 where there are none.
	Before int64
	// Dropped is how many rows there were that neither ledger nor archive holds any more.
	Dropped int64
}

// waitingTriggers are the rows of the triggers that wait for other runs to end, or for their
// Job to be taken. The status has none of them: its ten rows are of what has happened.
func (s State) waitingTriggers() []LedgerEntry {
	var rows []LedgerEntry
	for _, trigger := range s.Triggers {
		row := trigger.entry(Queued, ReasonJobAlreadyActive, time.Time{})
		switch {
		case trigger.Reason != "":
			row.Reason, row.Message = ReasonFailedCreate, trigger.text()
		case !trigger.Blocked:
			continue
		}
		rows = append(rows, row.bounded())
	}
	return rows
}

// PageOf returns the entries that are asked for. Those behind the ledger's have a time, an
// outcome and a result, and nothing else. An entry that is added in the middle may make a row
// come twice, and leaves none out.
func PageOf(state State, question Question) Page {
	archived := state.Archive.Entries()
	ledger := slices.Concat(archived, state.Rows(), state.waitingTriggers())
	next := len(ledger)
	page := Page{Dropped: max(state.LedgerDropped-int64(len(archived)), 0)}
	if question.Before > 0 {
		next = int(min(max(question.Before-1-page.Dropped, 0), int64(next)))
	}
	for next--; next >= 0; next-- {
		if !question.asksFor(ledger[next]) {
			continue
		}
		if len(page.Rows) == max(question.Limit, 1) {
			// Two more than its index among all rows that there ever were: 0 asks for the newest.
			page.Before = page.Dropped + int64(next) + 2
			break
		}
		page.Rows = append(page.Rows, ledger[next])
	}
	return page
}
