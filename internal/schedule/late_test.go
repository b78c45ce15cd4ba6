package schedule_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestACreateThatAnOutageHeldUp(t *testing.T) {
	t.Run("past the starting deadline is missed", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", deadline(5)), at("09:30"))
		c.outage = 30 * time.Second
		c.at(at("10:00"))
		wantStrings(t, "runs", c.started())
		wantStrings(t, "events", c.reasons(), "MissSchedule")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 SkippedDeadline StartingDeadlineExceeded")
		wantTime(t, "wake", c.wake, "11:00")
	})
	t.Run("inside the starting deadline runs late", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", deadline(30)), at("09:30"))
		c.outage = 30 * time.Second
		c.at(at("10:00"))
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("past the next scheduled time makes room for the newest", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *"), at("09:59:30"))
		c.outage = 3*time.Minute + 10*time.Second
		c.at(at("10:00"))
		wantStrings(t, "runs", c.started(), "2016-05-19T10:03:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00..19T10:02:00 x3 SkippedSuperseded Outage", "19T10:03:00 Started")
	})
	t.Run("is judged again a little later when the clocks differ", func(t *testing.T) {
		c := newCluster(t, cronSpec("0 * * * *", deadline(30)), at("09:30"))
		plan := schedule.Decide(c.at(at("09:59")).state, c.spec, at("10:00"))
		state := schedule.Apply(plan, schedule.Report{Refusal: ledger.TooLate}, at("10:00:20"))
		plan = schedule.Decide(state, c.spec, at("10:00:20"))
		if plan.Start != nil {
			t.Error("the create is repeated at once")
		}
		wantTime(t, "wake", plan.Wake, "10:00:30")
	})
}
