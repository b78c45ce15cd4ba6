package answer

import (
	"strings"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

// stripLength is how many outcomes a strip shows.
const stripLength = 10

// Signs of a strip, one for each outcome.
const (
	signComplete = "✓"
	signFailed   = "✗"
	signRunning  = "▸"
	signDeleted  = "⌫"
	signSkipped  = "–"
	signQueued   = "…"
	signRefused  = "!"
	// signSuspended is that of a suspension among the rows of a ledger.
	signSuspended = "‖"
)

// Legend says what the signs of a strip mean.
const Legend = signComplete + " complete  " + signFailed + " failed  " + signRunning + " running  " + signDeleted + " deleted  " +
	signSkipped + " skipped  " + signQueued + " waiting  " + signRefused + " refused"

// Strip shows the last ten outcomes of rows that are newest first, the newest last.
func Strip(rows []ostinatov1.RecentRun) string {
	var strip strings.Builder
	for n := min(len(rows), stripLength) - 1; n >= 0; n-- {
		strip.WriteString(Sign(rows[n]))
	}
	return strip.String()
}

// Sign is the sign of one row.
func Sign(row ostinatov1.RecentRun) string {
	switch outcome := ledger.Outcome(row.Outcome); {
	case outcome == ledger.Queued:
		return signQueued
	case outcome == ledger.FailedToCreate:
		return signRefused
	case !outcome.HasJob():
		return signSkipped
	}
	switch ledger.Result(row.Result) {
	case ledger.Complete:
		return signComplete
	case ledger.Failed:
		return signFailed
	case ledger.Deleted:
		return signDeleted
	}
	return signRunning
}
