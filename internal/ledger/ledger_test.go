package ledger_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/ledger"
)

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
