package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
)

// hourlyLedger has a row for each hour from 10 to 14, where 11 and 12 share one, and a manual one at 13:30.
func hourlyLedger() ledger.Ledger {
	row := func(from string) ledger.Entry {
		return ledger.Entry{Scheduled: at(from), Outcome: ledger.Started}
	}
	stretch := ledger.Entry{Scheduled: at("11:00"), Until: at("12:00"), Count: 2, Outcome: ledger.SkippedSuspended}
	return ledger.Ledger{Entries: []ledger.Entry{row("10:00"), stretch, row("13:00"), row("13:30"), row("14:00")}, Dropped: 7}
}

func TestTheLedgerAnswersByTime(t *testing.T) {
	for name, test := range map[string]struct {
		question ledger.Question
		rows     []string
		more     bool
	}{
		"everything":           {ledger.Question{Limit: 50}, []string{"14:00", "13:30", "13:00", "11:00", "10:00"}, false},
		"since, included":      {ledger.Question{Limit: 50, Since: at("13:00")}, []string{"14:00", "13:30", "13:00"}, false},
		"until, included":      {ledger.Question{Limit: 50, Until: at("13:00")}, []string{"13:00", "11:00", "10:00"}, false},
		"both":                 {ledger.Question{Limit: 50, Since: at("13:01"), Until: at("13:59")}, []string{"13:30"}, false},
		"one moment":           {ledger.Question{Limit: 50, Since: at("14:00"), Until: at("14:00")}, []string{"14:00"}, false},
		"the end of a stretch": {ledger.Question{Limit: 50, Since: at("12:00"), Until: at("12:30")}, []string{"11:00"}, false},
		"within a stretch":     {ledger.Question{Limit: 50, Since: at("11:20"), Until: at("11:40")}, []string{"11:00"}, false},
		"what is not there":    {ledger.Question{Limit: 50, Since: at("15:00")}, nil, false},
		"a limit":              {ledger.Question{Limit: 1, Until: at("13:10")}, []string{"13:00"}, true},
		"a limit that all fit": {ledger.Question{Limit: 1, Since: at("13:40")}, []string{"14:00"}, false},
		"in another zone":      {ledger.Question{Limit: 50, Since: at("14:00").In(time.FixedZone("", 3600))}, []string{"14:00"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			page := hourlyLedger().Page(test.question, nil)
			var rows []string
			for _, row := range page.Rows {
				rows = append(rows, row.Scheduled.Format("15:04"))
			}
			assert.Equal(t, test.rows, rows)
			assert.Equal(t, test.more, page.Before != 0)
			assert.EqualValues(t, 7, page.Dropped)
			assert.Empty(t, test.question.Mistake())
		})
	}
	assert.Equal(t, "since, 2016-05-19T12:00:00Z, is after until, 2016-05-19T11:00:00Z: exchange them",
		ledger.Question{Since: at("12:00"), Until: at("11:00")}.Mistake())
}

// TestPagesHaveEveryRowOnce, whatever is asked for.
func TestPagesHaveEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minute := rapid.IntRange(9*60, 15*60)
		moment := func(label string) time.Time {
			if rapid.Bool().Draw(t, label+" is set") {
				return at("00:00").Add(time.Duration(minute.Draw(t, label)) * time.Minute)
			}
			return time.Time{}
		}
		question := ledger.Question{Limit: rapid.IntRange(1, 6).Draw(t, "limit"), Since: moment("since"), Until: moment("until")}
		all := question
		all.Limit = 50
		want := hourlyLedger().Page(all, nil).Rows
		var got []ledger.Row
		for range 10 {
			page := hourlyLedger().Page(question, nil)
			got = append(got, page.Rows...)
			if question.Before = page.Before; page.Before == 0 {
				break
			}
			if len(page.Rows) != question.Limit {
				t.Fatalf("a page of %d rows is not the last", len(page.Rows))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for index := range want {
			if !got[index].Scheduled.Equal(want[index].Scheduled) {
				t.Fatalf("row %d is of %s, want %s", index, got[index].Scheduled, want[index].Scheduled)
			}
		}
	})
}
