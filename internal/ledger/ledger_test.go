package ledger_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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

// closed says that no time between two entries is to have an outcome yet.
func closed(_, _ ledger.Entry) bool { return false }

func started(clock, job string) ledger.Entry {
	return ledger.Entry{Scheduled: at(clock), Recorded: at(clock), Outcome: ledger.Started, Job: job}
}

func skipped(clock string) ledger.Entry {
	return ledger.Entry{Scheduled: at(clock), Outcome: ledger.SkippedSuperseded, Reason: ledger.ReasonOutage}
}

// What one of two ledgers that come from the same one takes in, the other does not see.
func TestALedgerIsAValue(t *testing.T) {
	first := ledger.Ledger{}.Record(started("10:00", "a"), closed).Record(skipped("11:00"), closed)
	left, right := first.Record(started("12:00", "b"), closed), first.Record(started("12:00", "c"), closed)
	assert.True(t, left.Has("b"))
	assert.True(t, right.Has("c"))
	assert.False(t, right.Has("b"))
	ended := left.Conclude("a", ledger.End{Result: ledger.Complete, Ended: at("10:30")})
	assert.Equal(t, "30m0s", ended.Entries[0].Took())
	assert.Empty(t, left.Entries[0].Result)
	joined := first.Record(skipped("12:00"), closed)
	assert.EqualValues(t, 2, joined.Entries[1].Times())
	assert.EqualValues(t, 1, first.Entries[1].Times())
}

func TestWhichRowsAreJoined(t *testing.T) {
	always := func(_, _ ledger.Entry) bool { return true }
	whole := ledger.Ledger{}.Record(skipped("10:00"), closed).Record(skipped("11:00"), closed).Record(skipped("12:00"), closed)
	assert.Len(t, whole.Entries, 1)
	assert.Len(t, whole.Record(skipped("13:00"), always).Entries, 2, "a time between them waits")
	assert.Len(t, whole.Record(skipped("09:00"), closed).Entries, 2, "an earlier one")
	rest, tallies := whole.Record(started("13:00", "a"), closed).Tallied()
	assert.Equal(t, []ledger.Tally{{Outcome: ledger.SkippedSuperseded, Times: 3}, {Outcome: ledger.Started, Times: 1}}, tallies)
	_, tallies = rest.Tallied()
	assert.Empty(t, tallies)
}

// A state and a status may be forged. What is counted is tallied by a metric, which a negative number would end the process.
func TestForgedCountsStayCounts(t *testing.T) {
	for name, count := range map[string]int64{"far too many": math.MaxInt64, "fewer than none": math.MinInt64} {
		t.Run(name, func(t *testing.T) {
			first, second := skipped("10:00"), skipped("12:00")
			first.Until, first.Count = at("11:00"), count
			second.Until, second.Count = at("13:00"), count
			apart := started("14:00", "a")
			forged, tallies := ledger.Ledger{}.Record(first, closed).Record(apart, closed).Record(second, closed).Tallied()
			for _, tally := range tallies {
				assert.Positive(t, tally.Times)
			}
			assert.Positive(t, ledger.Ledger{Entries: []ledger.Entry{first}}.Record(second, closed).Entries[0].Times())
			assert.Len(t, forged.Entries, 3)
		})
	}
}

// recorded returns the ledger of as many runs, one after the other.
func recorded(count int, apart time.Duration, edit func(*ledger.Entry)) (rows ledger.Ledger) {
	for n := range count {
		scheduled := at("10:00").Add(time.Duration(n) * apart)
		entry := ledger.Entry{Scheduled: scheduled, Recorded: scheduled.Add(time.Second), Outcome: ledger.StartedLate, Reason: ledger.ReasonOutage, Job: "hello-29541720"}
		if edit != nil {
			edit(&entry)
		}
		rows = rows.Record(entry, closed)
	}
	return rows
}

// A ledger keeps what people ask about, which is the last day, or the last 300 runs of a CronJob that runs seldom.
func TestHowManyRowsALedgerKeeps(t *testing.T) {
	for name, test := range map[string]struct {
		apart time.Duration
		kept  int
		reach time.Duration
	}{
		"each minute: 25 hours":        {time.Minute, 1500, 25*time.Hour - time.Minute},
		"each five minutes: 25 hours":  {5 * time.Minute, 301, 25 * time.Hour},
		"each hour: 300 rows":          {time.Hour, 300, 299 * time.Hour},
		"each ten seconds: 1,500 rows": {10 * time.Second, 1500, 14990 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			rows := recorded(2000, test.apart, nil)
			oldest, newest := rows.Entries[0], rows.Entries[len(rows.Entries)-1]
			assert.Len(t, rows.Entries, test.kept)
			assert.Equal(t, test.reach, newest.Scheduled.Sub(oldest.Scheduled))
			assert.EqualValues(t, 2000-test.kept, rows.Dropped)
			assert.Equal(t, ledger.ReasonOutage, oldest.Reason, "the oldest row keeps its reason")
			assert.Equal(t, "hello-29541720", oldest.Job, "the oldest row keeps its Job")
		})
	}
}

func TestTheTextsOfALedgerAreBoundedTogether(t *testing.T) {
	text := func(rows ledger.Ledger) (sum int) {
		for _, row := range rows.Entries {
			sum += len(row.Message) + len(row.ResultReason) + len(row.Job) + len(row.By) + len(row.Changed)
		}
		return sum
	}
	long := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		edit func(*ledger.Entry)
		kept int
	}{
		"a message":   {func(e *ledger.Entry) { e.Message = long }, 485},
		"all of them": {func(e *ledger.Entry) { e.Message, e.By, e.Changed, e.Job = long, long, long, long }, 128},
	} {
		t.Run(name, func(t *testing.T) {
			rows := recorded(2000, time.Minute, test.edit)
			assert.Len(t, rows.Entries, test.kept)
			assert.LessOrEqual(t, text(rows), 128<<10)
		})
	}
	t.Run("reasons of failures come later", func(t *testing.T) {
		rows := recorded(1500, time.Minute, func(e *ledger.Entry) { e.Job = "hello-" + e.Scheduled.Format("021504") })
		assert.Len(t, rows.Entries, 1500)
		for _, row := range rows.Entries {
			rows = rows.Conclude(row.Job, ledger.End{Result: ledger.Failed, ResultReason: long, Ended: row.Scheduled.Add(time.Minute)})
		}
		assert.LessOrEqual(t, text(rows), 128<<10)
		assert.EqualValues(t, 1500, len(rows.Entries)+int(rows.Dropped))
	})
}
