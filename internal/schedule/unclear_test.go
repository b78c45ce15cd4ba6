package schedule_test

import (
	"testing"

	"ostinato.dev/ostinato/internal/schedule"
)

func made(isMade bool) func(schedule.Start) bool { return func(schedule.Start) bool { return isMade } }

// unclearAt returns a CronJob whose run of 10:00 the API server was asked for and gave no clear answer.
func unclearAt(t *testing.T, isMade bool, options ...specOption) *cluster {
	c := newCluster(t, cronSpec("*/10 * * * *", options...), at("09:55")).at(at("09:55"))
	c.unclear = made(isMade)
	return c.at(at("10:00"))
}

func TestARunWhoseCreateHadNoClearAnswer(t *testing.T) {
	t.Run("is asked for again soon, under its name", func(t *testing.T) {
		c := unclearAt(t, false)
		wantTime(t, "wake", c.wake, "10:00:01")
		c.unclear = nil
		c.at(c.wake)
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("has run if its Job is found", func(t *testing.T) {
		c := unclearAt(t, true)
		c.at(c.wake)
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("is not asked for any more when the CronJob is suspended, and found when its Job can have come", func(t *testing.T) {
		c := unclearAt(t, true).edit(at("10:00:05"), suspended)
		wantTime(t, "wake", c.wake, "10:00:35")
		wantStrings(t, "ledger before", c.ledger())
		c.at(c.wake)
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
	})
	t.Run("is suspended if it has no Job then", func(t *testing.T) {
		c := unclearAt(t, false).edit(at("10:00:05"), suspended)
		c.unclear = nil
		c.at(c.wake)
		c.edit(at("10:05"), func(s *schedule.Spec) { s.Suspend = false; s.CatchUp = "none" })
		wantStrings(t, "runs", c.started())
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate ServerError")
	})
	t.Run("holds its place while a later time comes, which starts when it is missing", func(t *testing.T) {
		c := unclearAt(t, false, forbid)
		c.silent = true
		for c.wake.Before(at("10:10:01")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started())
		wantStrings(t, "ledger", c.ledger())
		c.unclear, c.silent = nil, false
		for c.now.Before(at("10:11")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:10:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate ServerError", "19T10:10:00 Started")
	})
	t.Run("keeps a later one from starting beside it when its Job is found", func(t *testing.T) {
		c := unclearAt(t, true, forbid)
		c.silent = true
		for c.wake.Before(at("10:10:01")) {
			c.at(c.wake)
		}
		c.silent = false
		for c.now.Before(at("10:11")) {
			c.at(c.wake)
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z")
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:10:00 SkippedOverlap JobAlreadyActive")
	})
	t.Run("is late after its starting deadline, if it has no Job", func(t *testing.T) {
		c := unclearAt(t, false, deadline(5))
		c.at(c.wake).at(at("10:00:10"))
		wantStrings(t, "ledger before", c.ledger())
		c.unclear = nil
		c.at(c.wake)
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate ServerError")
	})
	t.Run("of a call without any answer is an outage", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55"))
		plan := schedule.Decide(c.state, c.spec, at("10:00"))
		c.state = schedule.Apply(plan, schedule.Report{Unclear: true}, at("10:10:05"))
		for c.now = at("10:10:05"); c.now.Before(at("10:16")); {
			c.at(c.now)
			c.now = c.wake
		}
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 SkippedSuperseded Outage", "19T10:10:00 Started")
	})
}

// A manual run holds its place as a scheduled one does.
func TestATriggerWhoseCreateHadNoClearAnswer(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *", forbid), at("09:55")).at(at("09:55"))
	c.unclear, c.silent = made(true), true
	c.trigger(at("09:59:30"))
	for range 4 {
		c.at(c.wake)
	}
	c.at(at("10:00"))
	if len(c.starts) != 1 {
		t.Fatalf("starts %+v, want the trigger's alone", c.starts)
	}
	c.silent = false
	c.at(c.wake)
	wantStrings(t, "ledger", c.ledger(), "19T09:59:30 Started manual")
	c.unclear = nil
	c.finish("Complete", at("10:01:01"))
	wantStrings(t, "ledger", c.ledger(), "19T09:59:30 Started manual", "19T10:00:00 StartedLate JobAlreadyActive")
}
