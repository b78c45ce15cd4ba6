package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// TestTheMedianIsOfTheLastTwentyRunsThatCompleted: ten have to have.
func TestTheMedianIsOfTheLastTwentyRunsThatCompleted(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	ran := func(count int, took time.Duration, result ledger.Result) (rows []ledger.Entry) {
		for range count {
			at = at.Add(time.Hour)
			rows = append(rows, ledger.Entry{Scheduled: at, Recorded: at, Outcome: ledger.Started, Job: at.String(), End: ledger.End{Result: result, Ended: at.Add(took)}})
		}
		return rows
	}
	rows := func(parts ...[]ledger.Entry) (all []ledger.Entry) {
		for _, part := range parts {
			all = append(all, part...)
		}
		return all
	}
	for name, test := range map[string]struct {
		rows []ledger.Entry
		want int64
	}{
		"none":                          {nil, 0},
		"nine":                          {ran(9, time.Minute, ledger.Complete), 0},
		"ten":                           {ran(10, time.Minute, ledger.Complete), 60},
		"nine, and ten that failed":     {rows(ran(10, time.Second, ledger.Failed), ran(9, time.Minute, ledger.Complete)), 0},
		"one that runs does not count":  {rows(ran(10, time.Minute, ledger.Complete), []ledger.Entry{{Recorded: at, Job: "runs"}}), 60},
		"twenty after twenty":           {rows(ran(20, time.Hour, ledger.Complete), ran(20, time.Minute, ledger.Complete)), 60},
		"six long ones of sixteen":      {rows(ran(6, time.Hour, ledger.Complete), ran(10, time.Minute, ledger.Complete)), 60},
		"that end in no time":           {ran(10, 0, ledger.Complete), 1},
		"that ended before they began ": {ran(10, -time.Minute, ledger.Complete), 0},
	} {
		t.Run(name, func(t *testing.T) {
			state := schedule.State{Ledger: ledger.Ledger{Entries: test.rows}}
			assert.Equal(t, test.want, schedule.StatusOf(state, schedule.Spec{}).MedianDurationSeconds)
		})
	}
}
