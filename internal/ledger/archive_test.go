package ledger_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
)

// at is a time of Thursday 2016-05-19.
func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2016-05-19 "+clock+":00")
	if err != nil {
		panic(err)
	}
	return t
}

// TestAnArchiveKeepsTimesAndOutcomes, in whatever order they come.
func TestAnArchiveKeepsTimesAndOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []ledger.Entry
		var archive ledger.Archive
		scheduled := at("10:00")
		for range rapid.IntRange(0, 700).Draw(t, "entries") {
			scheduled = scheduled.Add(time.Duration(rapid.IntRange(-3, 200).Draw(t, "seconds")) * time.Second)
			entry := ledger.Entry{
				Scheduled: scheduled, Outcome: rapid.SampledFrom(ledger.Outcomes).Draw(t, "outcome"), Manual: rapid.Bool().Draw(t, "manual"),
				End: ledger.End{Result: rapid.SampledFrom(append([]ledger.Result{""}, ledger.Results...)).Draw(t, "result")},
			}
			if rapid.Bool().Draw(t, "stretch") {
				entry.Until, entry.Count = scheduled.Add(time.Minute), 7
			}
			want = append(want, entry)
			entry.Job, entry.Message, entry.Reason = "hello-1", "late", ledger.ReasonOutage
			archive = archive.Put(entry)
		}
		assert.Equal(t, want, archive.Entries())
	})
}

// TestAnArchiveIsBounded: two days of a CronJob that runs each minute fit, and of more the oldest make room.
func TestAnArchiveIsBounded(t *testing.T) {
	var days ledger.Archive
	for n := range 2 * 24 * 60 {
		days = days.Put(ledger.Entry{Scheduled: at("10:00").Add(time.Duration(n) * time.Minute), Outcome: ledger.Started, End: ledger.End{Result: ledger.Complete}})
	}
	data, err := json.Marshal(days)
	if err != nil || len(data) > 16_000 || len(days.Entries()) != 2*24*60 {
		t.Errorf("%d entries in %d bytes: %v", len(days.Entries()), len(data), err)
	}
	var archive ledger.Archive
	for n := range 10_000 {
		archive = archive.Put(ledger.Entry{Scheduled: at("10:00").Add(time.Duration(n) * time.Hour), Outcome: ledger.Started})
	}
	entries := archive.Entries()
	if len(archive.Packed) > 12_000 || len(entries) < 3000 {
		t.Errorf("%d entries in %d bytes", len(entries), len(archive.Packed))
	}
	if newest := entries[len(entries)-1].Scheduled; !newest.Equal(at("10:00").Add(9999 * time.Hour)) {
		t.Errorf("the newest is of %s", newest)
	}
}

// TestAnArchiveThatSomebodyMadeUp is read as far as it can be.
func TestAnArchiveThatSomebodyMadeUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		archive := ledger.Archive{
			From:   rapid.Int64().Draw(t, "from"),
			Until:  rapid.Int64().Draw(t, "until"),
			Packed: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "packed"),
		}
		more := archive.Put(ledger.Entry{Scheduled: at("10:00")})
		for _, archive := range []ledger.Archive{archive, more} {
			if _, err := json.Marshal(ledger.Ledger{Archive: archive}.Page(ledger.Question{Limit: 1000}, nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
	long := ledger.Ledger{Archive: ledger.Archive{Packed: make([]byte, 4<<20)}}
	if rows := long.Page(ledger.Question{Limit: 1 << 20}, nil).Rows; len(rows) != 0 {
		t.Errorf("%d rows of 4 MiB", len(rows))
	}
	if archive := long.Archive.Put(ledger.Entry{Scheduled: at("10:00")}); len(archive.Packed) > 12_000 {
		t.Errorf("%d bytes are kept", len(archive.Packed))
	}
}
