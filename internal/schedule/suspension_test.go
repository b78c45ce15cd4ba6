package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// While the bridge is away the workflow hears of a suspension when it asks for the run that is due: that run does not start because of it.
func TestASuspensionThatIsNoticedAtTheDueTimeCoversIt(t *testing.T) {
	for name, test := range map[string]struct {
		options []specOption
		refused bool
		heard   string
		decided string
		ledger  []string
		events  []string
	}{
		"within the deadline": {
			[]specOption{deadline(36000)}, false, "02:00:00.1", "02:00:00.1", []string{"19T02:00:00 StartedLate Suspended"}, nil},
		"past the deadline": {
			[]specOption{deadline(600)}, false, "02:00:00.1", "02:00:00.1", []string{"19T02:00:00 SkippedSuspended Suspended"}, nil},
		"when the Jobs that there are come late": {
			[]specOption{deadline(600)}, false, "02:00:00.1", "02:05", []string{"19T02:00:00 SkippedSuspended Suspended"}, nil},
		"not what was refused before": {
			[]specOption{deadline(600)}, true, "02:00:05", "02:00:05", []string{"19T02:00:00 FailedToCreate Forbidden"}, []string{"MissSchedule"}},
		"not what an outage held up": {
			[]specOption{deadline(600)}, false, "02:10", "02:10", []string{"19T02:00:00 SkippedDeadline StartingDeadlineExceeded"}, []string{"MissSchedule"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 2 * * *", test.options...), at("00:00")).at(at("00:00"))
			if test.refused {
				c.refuse = func(schedule.Start) string { return "exceeded quota" }
				c.at(at("02:00"))
				c.refuse = nil
			}
			c.change(at(test.heard), suspended)
			c.at(at(test.decided)).edit(at("10:00"), resumed)
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
			wantStrings(t, "events", c.reasons(), test.events...)
		})
	}
	t.Run("nor what another run holds back", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", forbid, deadline(600)), at("09:30")).at(at("10:00"))
		c.edit(at("11:00:00.1"), suspended).finish("Complete", at("11:05")).edit(at("11:20"), resumed)
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 SkippedDeadline StartingDeadlineExceeded")
	})
}

// A time of a suspension that is over may still wait for its outcome when the next suspension begins.
func TestATimeOfTheSuspensionBeforeWasSuspended(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	c.edit(at("10:30"), suspended)
	c.unclear, c.unclearManual = func(schedule.Start) bool { return false }, true
	c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("11:29:59"))
	c.at(at("11:29:59")).edit(at("11:30"), resumed).edit(at("11:30:01"), suspended)
	c.unclear = nil
	c.edit(at("12:30"), resumed)
	wantStrings(t, "ledger", c.ledger(),
		"19T10:00:00 Started", "19T11:00:00 SkippedSuspended Suspended", "19T11:29:59 StartedLate FailedCreate manual",
		"19T12:00:00 StartedLate Suspended")
}

// TestTheLedgerSaysWhoHasSuspendedAndResumed, as the writes of the status have answered.
func TestTheLedgerSaysWhoHasSuspendedAndResumed(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	told := func(who string) {
		c.state = schedule.Apply(schedule.Plan{Next: c.state}, schedule.Report{Suspender: who}, c.now)
	}
	c.edit(at("10:30"), suspended)
	told("by ada through kubectl-edit")
	c.edit(at("10:40"), func(s *schedule.Spec) { s.SuccessfulJobsHistoryLimit = 7 })
	told("by ada through kubectl-edit")
	c.edit(at("12:30"), resumed)
	told("by bob through ostinato")
	want := []ledger.Suspension{{From: at("10:30"), To: at("12:30"), Suspended: "by ada through kubectl-edit", Resumed: "by bob through ostinato"}}
	assert.Equal(t, want, c.state.Suspensions)

	// A workflow that begins anew with the status that there is knows of a suspension that lasts.
	c.edit(at("12:40"), suspended)
	anew := schedule.NewState(c.state.Identity, c.status, ledger.Ledger{}, nil)
	again := newCluster(t, c.spec, at("09:30"))
	again.state = anew
	again.at(at("13:10")).edit(at("13:20"), resumed)
	assert.Equal(t, []ledger.Suspension{{From: at("12:40"), To: at("13:20")}}, again.state.Suspensions)
}
