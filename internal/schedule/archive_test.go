package schedule_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/schedule"
)

// allRows returns every row that the ledger answers with, oldest first.
func allRows(state schedule.State) []schedule.LedgerRow {
	rows := schedule.PageOf(state, schedule.Question{Limit: 1 << 20}).Rows
	slices.Reverse(rows)
	return rows
}

// TestTwoDaysOfTimesStayBehindTheLedger: of a CronJob that runs each five minutes the ledger has a day.
func TestTwoDaysOfTimesStayBehindTheLedger(t *testing.T) {
	c := newCluster(t, cronSpec("*/5 * * * *", limits(0, 0)), at("09:59:30")).at(at("09:59:30"))
	for range 3 * 24 * 12 {
		c.at(c.wake).finish(batchv1.JobComplete, c.now)
	}
	rows := allRows(c.state)
	newest := rows[len(rows)-1].Scheduled
	if span := newest.Sub(rows[0].Scheduled); span < 48*time.Hour || span > 48*time.Hour+5*time.Minute {
		t.Errorf("%d rows of %s", len(rows), span)
	}
	for i, row := range rows[1:] {
		if !row.Scheduled.Equal(rows[i].Scheduled.Add(5*time.Minute)) || row.Outcome != schedule.Started {
			t.Fatalf("row %d is %+v, after %s", i+1, row, rows[i].Scheduled)
		}
	}
	if rows[0].Job != "" || rows[len(rows)-1].Job == "" {
		t.Errorf("the oldest row is %+v, the newest %+v", rows[0], rows[len(rows)-1])
	}
	page := schedule.PageOf(c.state, schedule.Question{Limit: 50, Since: newest.Add(-40 * time.Hour), Until: newest.Add(-40*time.Hour + 45*time.Minute)})
	if len(page.Rows) != 10 || page.Dropped+int64(len(rows)) != 3*24*12 {
		t.Errorf("%d rows of 45 minutes, %d dropped, %d left", len(page.Rows), page.Dropped, len(rows))
	}
}

// TestAnArchiveKeepsTimesAndOutcomes, in whatever order they come.
func TestAnArchiveKeepsTimesAndOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []schedule.LedgerEntry
		var archive schedule.Archive
		scheduled := at("10:00")
		for range rapid.IntRange(0, 700).Draw(t, "entries") {
			scheduled = scheduled.Add(time.Duration(rapid.IntRange(-3, 200).Draw(t, "seconds")) * time.Second)
			entry := schedule.LedgerEntry{
				Scheduled: scheduled, Outcome: rapid.SampledFrom(schedule.Outcomes).Draw(t, "outcome"), Manual: rapid.Bool().Draw(t, "manual"),
				Result: rapid.SampledFrom(append([]schedule.RunResult{""}, schedule.RunResults...)).Draw(t, "result"),
			}
			if rapid.Bool().Draw(t, "stretch") {
				entry.Until, entry.Count = scheduled.Add(time.Minute), 7
			}
			want = append(want, entry)
			entry.Job, entry.Message, entry.Reason = "hello-1", "late", schedule.ReasonOutage
			archive = archive.Put(entry)
		}
		assert.Equal(t, want, archive.Entries())
	})
}

// TestAnArchiveIsBounded: two days of a CronJob that runs each minute fit, and of more the oldest make room.
func TestAnArchiveIsBounded(t *testing.T) {
	var days schedule.Archive
	for n := range 2 * 24 * 60 {
		days = days.Put(schedule.LedgerEntry{Scheduled: at("10:00").Add(time.Duration(n) * time.Minute), Outcome: schedule.Started, Result: schedule.RunComplete})
	}
	data, err := json.Marshal(days)
	if err != nil || len(data) > 16_000 || len(days.Entries()) != 2*24*60 {
		t.Errorf("%d entries in %d bytes: %v", len(days.Entries()), len(data), err)
	}
	var archive schedule.Archive
	for n := range 10_000 {
		archive = archive.Put(schedule.LedgerEntry{Scheduled: at("10:00").Add(time.Duration(n) * time.Hour), Outcome: schedule.Started})
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
		archive := schedule.Archive{
			From:   rapid.Int64().Draw(t, "from"),
			Until:  rapid.Int64().Draw(t, "until"),
			Packed: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "packed"),
		}
		more := archive.Put(schedule.LedgerEntry{Scheduled: at("10:00")})
		for _, archive := range []schedule.Archive{archive, more} {
			if _, err := json.Marshal(schedule.PageOf(schedule.State{Archive: archive}, schedule.Question{Limit: 1000})); err != nil {
				t.Fatal(err)
			}
		}
	})
	long := schedule.State{Archive: schedule.Archive{Packed: make([]byte, 4<<20)}}
	if rows := allRows(long); len(rows) != 0 {
		t.Errorf("%d rows of 4 MiB", len(rows))
	}
	if archive := long.Archive.Put(schedule.LedgerEntry{Scheduled: at("10:00")}); len(archive.Packed) > 12_000 {
		t.Errorf("%d bytes are kept", len(archive.Packed))
	}
}
