package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Import returns the ledger with the rows of an export that it lacks and that are admitted, as many as it has room for beside its own.
// taken is how many those are, known how many it has already. A user whom the export names is a claim.
func (l Ledger) Import(rows []Entry, admit func(Entry) (Entry, bool)) (imported Ledger, taken, known int) {
	l.Imported = slices.Clone(l.Imported)
	before := len(l.Imported)
	for _, row := range rows {
		if l.knows(row) {
			known++
		} else if row, ok := admit(row); ok {
			row = row.Bounded()
			row.Asked, row.Imported = row.Asked.Claimed(), true
			l.Imported = append(l.Imported, row)
		}
	}
	// However often rows are imported, the same ones have room.
	slices.SortStableFunc(l.Imported, func(a, b Entry) int {
		return cmp.Or(a.known().Compare(b.known()), a.Scheduled.Compare(b.Scheduled), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Job, b.Job))
	})
	imported = l.bound()
	// What it has no room for it never had.
	imported.Dropped = l.Dropped
	return imported, max(len(imported.Imported)-before, 0), known
}

// knows reports whether the ledger has a row of the same run or times.
func (l Ledger) knows(row Entry) bool {
	return slices.ContainsFunc(l.Entries, row.isTwinOf) || slices.ContainsFunc(l.Imported, row.isTwinOf)
}

// withoutTwins returns the ledger without imported rows of the same runs or times as rows of its own.
func (l Ledger) withoutTwins(own ...Entry) Ledger {
	l.Imported = slices.DeleteFunc(slices.Clone(l.Imported), func(row Entry) bool { return slices.ContainsFunc(own, row.isTwinOf) })
	return l
}

// isTwinOf reports whether two entries are about the same run, or share a scheduled time. A row from a status lacks the number of a
// trigger.
func (e Entry) isTwinOf(other Entry) bool {
	bothRan := e.Outcome.HasJob() && other.Outcome.HasJob()
	switch {
	case bothRan && e.Job == other.Job:
		return true
	case e.Manual != other.Manual:
		return false
	case e.Manual:
		same := e.Sequence == other.Sequence || min(e.Sequence, other.Sequence) == 0 && e.Outcome == other.Outcome
		return !bothRan && same && e.Scheduled.Equal(other.Scheduled)
	}
	return !e.Scheduled.After(other.Last()) && !other.Scheduled.After(e.Last())
}

// known is when the outcome was known, as far as the entry tells.
func (e Entry) known() time.Time { return cmp.Or(e.Recorded, e.Last()) }

// rows returns the imported rows among those of the ledger's own, by the time at which the outcomes were known. That of a run is in
// whole seconds: of one second the imported rows are first, since the status has the last ones.
func (l Ledger) rows() (all []Entry) {
	imported := l.Imported
	for _, own := range l.Entries {
		for len(imported) > 0 && !imported[0].known().After(own.known()) {
			all, imported = append(all, imported[0]), imported[1:]
		}
		all = append(all, own)
	}
	return append(all, imported...)
}
