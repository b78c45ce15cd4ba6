package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/ledger"
)

// TestALedgerRemembersSuspensions, and keeps them when the rows of their time have gone.
func TestALedgerRemembersSuspensions(t *testing.T) {
	l := ledger.Ledger{}.Suspend(at("10:00")).Steered("by ada: an upgrade").Suspend(at("10:30")).Steered("by eve")
	assert.Equal(t, []ledger.Suspension{{From: at("10:00"), Suspended: "by ada: an upgrade"}}, l.Suspensions, "one that lasts goes on, and what is known stays")
	resumed := l.Resume(at("10:00"), at("11:00")).Steered("").Steered("by bob").Steered("by eve")
	assert.Equal(t, []ledger.Suspension{{at("10:00"), at("11:00"), "by ada: an upgrade", "by bob"}}, resumed.Suspensions)
	assert.Zero(t, l.Suspensions[0].To, "a ledger is a value")
	for n := range 2000 {
		resumed = resumed.Record(started("12:00", strings.Repeat("x", n%100)), closed)
	}
	assert.Equal(t, resumed.Suspensions, resumed.Page(ledger.Question{Limit: 1}, nil).Suspensions)

	// A workflow that an earlier version has begun knows of the suspension, and its ledger does not.
	unknown := ledger.Ledger{}.Resume(at("10:00"), at("11:00"))
	assert.Equal(t, []ledger.Suspension{{From: at("10:00"), To: at("11:00")}}, unknown.Suspensions)
	assert.Empty(t, ledger.Ledger{}.Steered("by ada").Suspensions)
}

func TestSuspensionsAreBounded(t *testing.T) {
	var l ledger.Ledger
	for n := range 100 {
		from := at("10:00").Add(time.Duration(n) * time.Hour)
		l = l.Suspend(from).Steered(strings.Repeat("x", 1<<20)).Resume(from, from.Add(time.Minute)).Steered(strings.Repeat("y", 1<<20))
	}
	assert.Len(t, l.Suspensions, ledger.MaxSuspensions)
	assert.Equal(t, at("10:00").Add(99*time.Hour), l.Suspensions[ledger.MaxSuspensions-1].From, "the last ones stay")
	assert.LessOrEqual(t, len(l.Suspensions[0].Suspended)+len(l.Suspensions[0].Resumed), 512)
}

func TestWhichTimesASuspensionCovers(t *testing.T) {
	for name, test := range map[string]struct {
		suspension ledger.Suspension
		at         string
		covers     bool
	}{
		"before it":               {ledger.Suspension{From: at("10:00"), To: at("11:00")}, "09:59", false},
		"its first time":          {ledger.Suspension{From: at("10:00"), To: at("11:00")}, "10:00", true},
		"the time of its end":     {ledger.Suspension{From: at("10:00"), To: at("11:00")}, "11:00", false},
		"any time while it lasts": {ledger.Suspension{From: at("10:00")}, "23:00", true},
	} {
		assert.Equal(t, test.covers, test.suspension.Covers(at(test.at)), name)
	}
}
