package ledger

import (
	"slices"
	"time"
)

const (
	// limit bounds Ledger.Entries. It is as many as a CronJob that runs each minute needs for span.
	limit = 1_500
	// usual is how many entries stay, however old they are. More stay only if they are not older than span: a worker holds the
	// ledgers of all CronJobs in memory.
	usual = 300
	span  = 25 * time.Hour
	// maxText bounds the texts of all entries together, in bytes: a ledger of texts that don't compress is carried over in less
	// than 256 kB, from which on Temporal warns.
	maxText = 128 << 10
)

// Ledger holds recent outcomes. It is a value: whatever changes it returns another, which shares no entry that is written to.
type Ledger struct {
	// Entries are in the order in which the outcomes were known.
	Entries []Entry `json:"ledger,omitempty"`
	// Imported are rows of an export, for reading alone: nothing is decided by them. They go before the ledger's own, the oldest first.
	Imported []Entry `json:"imported,omitempty"`
	// Suspensions are the last ones, oldest first.
	Suspensions []Suspension `json:"suspensions,omitempty"`
	// Dropped counts older entries.
	Dropped int64 `json:"ledgerDropped,omitempty"`
	// tallies are outcomes that the metric does not count yet; they are not carried over.
	tallies []Tally
}

// Record returns the ledger with an outcome more. Adjoining scheduled times that were not started for the same reason
// share an entry, so that a long blockage does not push the runs before it out of the ledger. The callback open
// reports whether a time between two entries has no outcome yet.
func (l Ledger) Record(entry Entry, open func(former, next Entry) bool) Ledger {
	entry = entry.Bounded()
	l = l.Count(entry.Outcome, entry.Times()).withoutTwins(entry)
	last := len(l.Entries) - 1
	if last < 0 || !l.Entries[last].joins(entry) || !l.adjoin(entry) || open(l.Entries[last], entry) {
		// The capacity is another ledger's too.
		l.Entries = append(slices.Clip(l.Entries), entry)
		return l.bound()
	}
	l.Entries = slices.Clone(l.Entries)
	joined := &l.Entries[last]
	joined.Until, joined.Count = entry.Last(), joined.Times()+entry.Times()
	joined.Estimated = joined.Estimated || entry.Estimated
	joined.Recorded, joined.Message = entry.Recorded, entry.Message
	return l.bound()
}

// adjoin reports whether the entry is later than the last one, and no other is of a time between the two.
func (l Ledger) adjoin(entry Entry) bool {
	last := len(l.Entries) - 1
	first, until := l.Entries[last], entry.Last()
	return entry.Scheduled.After(first.Last()) && !slices.ContainsFunc(l.Entries[:last], func(other Entry) bool {
		return !other.Manual && other.Last().After(first.Scheduled) && other.Scheduled.Before(until)
	})
}

// bound returns the ledger without the oldest entries that it has no room for.
func (l Ledger) bound() Ledger {
	rows := l.Entries
	if len(l.Imported) > 0 {
		rows = slices.Concat(l.Imported, l.Entries)
	}
	if len(rows) == 0 {
		return l
	}
	oldest := rows[len(rows)-1].known().Add(-span)
	kept, text := 0, 0
	for _, entry := range slices.Backward(rows) {
		text += entry.text()
		if kept == limit || text > maxText || kept >= usual && entry.known().Before(oldest) {
			break
		}
		kept++
	}
	over := len(rows) - kept
	imported := min(over, len(l.Imported))
	l.Imported, l.Entries, l.Dropped = l.Imported[imported:], l.Entries[over-imported:], l.Dropped+int64(over)
	return l
}

// Has reports whether the ledger has the run of a Job.
func (l Ledger) Has(job string) bool { return l.find(job) >= 0 }

// HasAsked reports whether the ledger has a row of a Job that was asked for; a person may have made one under its name.
func (l Ledger) HasAsked(job string) bool {
	return slices.ContainsFunc(l.Entries, func(entry Entry) bool {
		return entry.Outcome.HasJob() && entry.Job == job && entry.Through != ThroughJob
	})
}

// find returns the index of a Job's row, the newest; -1 if there is none.
func (l Ledger) find(job string) int {
	for i, entry := range slices.Backward(l.Entries) {
		if entry.Outcome.HasJob() && entry.Job == job {
			return i
		}
	}
	return -1
}

// HasRunOf reports whether the ledger has a scheduled run of the time that has a Job.
func (l Ledger) HasRunOf(scheduled time.Time) bool {
	return slices.ContainsFunc(l.Entries, func(entry Entry) bool {
		return !entry.Manual && entry.Outcome.HasJob() && entry.Scheduled.Equal(scheduled)
	})
}

// WithSkipped returns the ledger with the rows of another one that are of scheduled times after the given one, and of runs
// without a Job. Restored has left them out.
func (l Ledger) WithSkipped(other Ledger, after time.Time) Ledger {
	for _, row := range other.Entries {
		if row.Manual || row.Outcome.HasJob() || row.Outcome == Queued || !row.Scheduled.After(after) || row.Times() == 1 && l.HasRunOf(row.Scheduled) {
			continue
		}
		at := len(l.Entries)
		for at > 0 && !l.Entries[at-1].Manual && l.Entries[at-1].Scheduled.After(row.Scheduled) {
			at--
		}
		l.Entries = slices.Insert(slices.Clip(l.Entries), at, row)
	}
	return l.bound()
}

// Without returns the ledger without the row of one scheduled time whose run has no Job.
func (l Ledger) Without(scheduled time.Time) Ledger {
	l.Entries = slices.DeleteFunc(slices.Clone(l.Entries), func(entry Entry) bool {
		return !entry.Manual && !entry.Outcome.HasJob() && entry.Times() == 1 && entry.Scheduled.Equal(scheduled)
	})
	return l
}

// Conclude returns the ledger with the end of a Job's run in its row, if it has one.
func (l Ledger) Conclude(job string, end End) Ledger {
	if i := l.find(job); i >= 0 {
		l.Entries = slices.Clone(l.Entries)
		l.Entries[i] = l.Entries[i].WithEnd(end)
		return l.bound()
	}
	return l
}

// Tally is a number of scheduled times and triggers that have got an outcome.
type Tally struct {
	Outcome Outcome
	Times   int64
}

// Count returns the ledger with outcomes more to be tallied.
func (l Ledger) Count(outcome Outcome, times int64) Ledger {
	l.tallies = slices.Clone(l.tallies)
	for i := range l.tallies {
		if l.tallies[i].Outcome == outcome {
			l.tallies[i].Times += times
			return l
		}
	}
	l.tallies = append(l.tallies, Tally{outcome, times})
	return l
}

// Tallied returns the outcomes since the last call, and the ledger without these counts.
func (l Ledger) Tallied() (rest Ledger, tallies []Tally) {
	tallies, l.tallies = l.tallies, nil
	return l, tallies
}
