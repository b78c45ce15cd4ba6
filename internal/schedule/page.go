package schedule

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/times"
)

// Question asks for a part of the ledger.
type Question struct {
	// Before is an earlier Page's, for the rows before those; 0 for the newest.
	Before int64 `json:"before,omitempty"`
	// Limit is how many rows there are to be at most.
	Limit int `json:"limit,omitempty"`
	// Since and Until bound the scheduled times, both included; a stretch counts if one of its times may be within.
	// Zero is no bound.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Mistake says what the sender is to change; empty when nothing is.
func (q Question) Mistake() string {
	if q.Since.IsZero() || q.Until.IsZero() || !q.Until.Before(q.Since) {
		return ""
	}
	return fmt.Sprintf("since, %s, is after until, %s: exchange them", times.Format(q.Since), times.Format(q.Until))
}

// Page is part of a ledger, newest first.
type Page struct {
	Rows []LedgerRow `json:"rows"`
	// Before asks for the rows before these; 0 where there are none.
	Before int64 `json:"before,omitempty"`
	// Dropped is how many rows there were that neither ledger nor archive holds any more.
	Dropped int64 `json:"dropped,omitempty"`
}

// LedgerRow is an outcome, and how long the run took.
type LedgerRow struct {
	LedgerEntry
	// Duration is that of an ended run, such as 1m30s.
	Duration string `json:"duration,omitempty"`
}

// PageOf returns the entries that are asked for. Archived ones have a time, an outcome and a result only. If entries
// are added meanwhile, a row may come twice, but none is left out.
func PageOf(state State, question Question) Page {
	archived := state.Archive.Entries()
	ledger := slices.Concat(archived, state.Rows(), state.waitingTriggers())
	next := len(ledger)
	page := Page{Rows: []LedgerRow{}, Dropped: max(state.LedgerDropped-int64(len(archived)), 0)}
	if question.Before > 0 {
		next = int(min(max(question.Before-1-page.Dropped, 0), int64(next)))
	}
	for next--; next >= 0; next-- {
		if entry := ledger[next]; entry.last().Before(question.Since) || !question.Until.IsZero() && entry.Scheduled.After(question.Until) {
			continue
		}
		if len(page.Rows) == max(question.Limit, 1) {
			// Two more than its index among all rows that there ever were: 0 asks for the newest.
			page.Before = page.Dropped + int64(next) + 2
			break
		}
		page.Rows = append(page.Rows, LedgerRow{ledger[next], ledger[next].Took()})
	}
	return page
}

const (
	// archiveSpan is how far back from the newest entry of the ledger the archive reaches.
	archiveSpan = 48 * time.Hour
	// maxArchive bounds Archive.Packed, in bytes: 16,000 in JSON.
	maxArchive = 12_000
	// maxApart bounds how far apart two entries of an archive are, in seconds.
	maxApart = 100 * 366 * 24 * 60 * 60
)

// Archive holds the times and outcomes of entries that have fallen out of the ledger, in some two bytes each.
type Archive struct {
	// From is the base of the first entry's time, Until the last entry's time, in seconds since 1970.
	From  int64 `json:"from,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Packed are the entries, oldest first: seconds since the one before, a byte of flags, and for a stretch its
	// duration and number of times.
	Packed []byte `json:"packed,omitempty"`
}

// Flags of an entry: three bits for the index of its outcome among Outcomes, then these, and two bits for one more than
// the index of its result among RunResults.
const (
	archiveManual = 1 << 3
	archiveLong   = 1 << 4
	archiveResult = 5
)

// Put returns the archive with an entry more, and without those that it has no room for.
func (a Archive) Put(entry LedgerEntry) Archive {
	scheduled := entry.Scheduled.Unix()
	if len(a.Packed) == 0 || max(scheduled-a.Until, a.Until-scheduled) > maxApart {
		a = Archive{From: scheduled, Until: scheduled}
	}
	flags := byte(max(slices.Index(Outcomes, entry.Outcome), 0))
	flags |= byte(slices.Index(RunResults, entry.Result)+1) << archiveResult
	if entry.Manual {
		flags |= archiveManual
	}
	if entry.Times() > 1 {
		flags |= archiveLong
	}
	a.Packed = binary.AppendVarint(slices.Clone(a.Packed), scheduled-a.Until)
	a.Packed = append(a.Packed, flags)
	if entry.Times() > 1 {
		a.Packed = binary.AppendUvarint(a.Packed, uint64(max(entry.last().Unix()-scheduled, 0)))
		a.Packed = binary.AppendUvarint(a.Packed, uint64(entry.Times()))
	}
	a.Until = scheduled
	for len(a.Packed) > maxArchive {
		_, a = a.first()
	}
	return a
}

// since returns the archive without the entries at its beginning that were over before a time.
func (a Archive) since(from time.Time) Archive {
	for len(a.Packed) > 0 {
		entry, rest := a.first()
		if entry.Outcome != "" && !entry.last().Before(from) {
			break
		}
		a = rest
	}
	return a
}

// first returns the first entry and the rest of the archive; both are empty if it can't be read, since it is forged.
func (a Archive) first() (entry LedgerEntry, rest Archive) {
	packed := a.Packed
	apart, size := binary.Varint(packed)
	if size <= 0 || size >= len(packed) || apart > maxApart || apart < -maxApart {
		return LedgerEntry{}, Archive{}
	}
	flags, packed := packed[size], packed[size+1:]
	entry = LedgerEntry{Scheduled: time.Unix(a.From+apart, 0).UTC(), Outcome: Outcomes[flags&7], Manual: flags&archiveManual != 0}
	if result := flags >> archiveResult & 3; result > 0 {
		entry.Result = RunResults[result-1]
	}
	if flags&archiveLong != 0 {
		lasts, length := binary.Uvarint(packed)
		count, more := binary.Uvarint(packed[max(length, 0):])
		if length <= 0 || more <= 0 || max(lasts, count) > maxApart {
			return LedgerEntry{}, Archive{}
		}
		packed = packed[length+more:]
		entry.Until, entry.Count = entry.Scheduled.Add(time.Duration(lasts)*time.Second), int64(count)
	}
	if year := entry.Scheduled.Year(); year < 1 || entry.last().Year() > 9999 {
		// It could not be written as JSON.
		return LedgerEntry{}, Archive{}
	}
	if len(packed) == 0 {
		return entry, Archive{}
	}
	return entry, Archive{From: entry.Scheduled.Unix(), Until: a.Until, Packed: packed}
}

// Entries returns what the archive holds, oldest first: times, outcomes and results.
func (a Archive) Entries() []LedgerEntry {
	var entries []LedgerEntry
	if len(a.Packed) > maxArchive {
		return nil
	}
	for len(a.Packed) > 0 {
		entry, rest := a.first()
		if entry.Outcome == "" {
			break
		}
		entries = append(entries, entry)
		a = rest
	}
	return entries
}
