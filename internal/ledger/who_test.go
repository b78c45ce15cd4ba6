package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

func TestWhoSaysWhatIsProven(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for name, test := range map[string]struct{ user, claimed, want string }{
		"no name":                {"", "", ""},
		"a claim":                {"", "ada", "ada (claimed)"},
		"a user":                 {"ada", "", "ada"},
		"a user of that name":    {"ada", "ada", "ada"},
		"a user of another name": {"ada", "bob", "ada (claims to be bob)"},
		"names without end":      {long, "y" + long, long[:253] + "... (claims to be y" + long[:60] + "...)"},
		"a claim without end":    {"", long, long[:253] + "... (claimed)"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, ledger.Who(test.user, test.claimed)) })
	}
}

// The status keeps both names, and a ledger that is restored from it has both.
func TestARowKeepsTheUserBesideTheClaim(t *testing.T) {
	asked := ledger.Asked{By: "bob", User: "ada", Through: "signal"}
	entry := ledger.Entry{Scheduled: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Outcome: ledger.Started, Job: "hello-1", Manual: true, Asked: asked}
	rows := ledger.RecentRuns([]ledger.Entry{entry})
	assert.Equal(t, "ada", rows[0].User)
	assert.Equal(t, asked, ledger.Ledger{}.Restored(ostinatov1.CronJobStatus{RecentRuns: rows}).Entries[0].Asked)
	assert.Equal(t, ledger.Asked{By: "ada", Through: "signal"}, asked.Claimed())
	assert.Equal(t, ledger.Asked{By: "bob"}, ledger.Asked{By: "bob"}.Claimed())
}
