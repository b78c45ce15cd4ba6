package schedule_test

import (
	"testing"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// anew returns the CronJob with a state that knows no more than the object's status, and the Jobs that have ended.
func (c *cluster) anew(ended ...schedule.Finished) *cluster {
	c.status.Revision++
	c.state = schedule.NewState(c.state.Identity, c.status, ledger.Ledger{}, ended).AfterAnother(c.now)
	return c
}

// A create that the state before has sent may be carried out for 35 s: a Job that is deleted meanwhile would be made again.
func TestAJobOfAStateThatBeginsAnewIsKept(t *testing.T) {
	kept := func(t *testing.T, c *cluster, until string) {
		t.Helper()
		if len(c.deletes) > 0 {
			t.Errorf("deleted at once: %+v", c.deletes)
		}
		wantTime(t, "wake", c.wake, until)
		if c.at(c.wake); len(c.deletes) != 1 {
			t.Errorf("deleted later: %+v", c.deletes)
		}
	}
	spec := cronSpec("*/10 * * * *", limits(0, 0))
	found := func(started string) schedule.Finished {
		return schedule.Finished{
			Run:       schedule.Run{Name: "hello-24394200", UID: "1", Scheduled: at("10:00"), Started: at(started)},
			Condition: jobComplete, StartTime: at("10:00"),
		}
	}
	t.Run("if it starts the run itself", func(t *testing.T) {
		c := newCluster(t, spec, at("09:55")).at(at("09:55"))
		c.now = at("10:00:01")
		kept(t, c.anew().at(at("10:00:02")).finish("Complete", at("10:00:05")), "10:00:37")
	})
	t.Run("if it has forgotten that it has asked for the run when that was due", func(t *testing.T) {
		c := newCluster(t, spec, at("09:55")).at(at("09:55"))
		kept(t, c.at(at("10:00:10")).finish("Complete", at("10:00:15")), "10:00:45")
	})
	t.Run("only if it began late", func(t *testing.T) {
		c := newCluster(t, spec, at("09:55")).at(at("09:55")).at(at("10:00")).finish("Complete", at("10:00:05"))
		if len(c.deletes) != 1 {
			t.Errorf("deleted: %+v", c.deletes)
		}
	})
	t.Run("only if it is to be deleted", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55"))
		c.at(at("10:00:10")).finish("Complete", at("10:00:15"))
		wantTime(t, "wake", c.wake, "10:10")
	})
	t.Run("if it finds that the run has started", func(t *testing.T) {
		c := newCluster(t, spec, at("09:55")).at(at("09:55"))
		c.now = at("10:00:05")
		kept(t, c.anew(found("10:00")).at(at("10:00:06")), "10:00:40")
	})
	t.Run("if the status names it, and it ends then", func(t *testing.T) {
		c := newCluster(t, spec, at("09:55")).at(at("09:55")).at(at("10:00"))
		c.now = at("10:00:05")
		kept(t, c.anew().finish("Complete", at("10:00:06")), "10:00:40")
	})
	t.Run("if an attempt was repeated long after it was made", func(t *testing.T) {
		c := newCluster(t, spec, at("09:55")).at(at("09:55"))
		c.now = at("10:05")
		kept(t, c.anew(found("10:00")).at(at("10:05")), "10:05:35")
	})
	overtaken := func(t *testing.T, revision int64) *cluster {
		c := newCluster(t, spec, at("09:55")).at(at("09:55"))
		c.now = at("10:01")
		status := c.status
		status.Revision = revision
		read := schedule.NewState(c.state.Identity, status, c.state.Ledger, []schedule.Finished{found("10:00")})
		c.state = schedule.BeginAnew(c.state, read, status, c.spec.Generation, nil, c.now).State
		return c.at(at("10:01"))
	}
	t.Run("if Temporal was restored", func(t *testing.T) { kept(t, overtaken(t, 2), "10:01:35") })
	t.Run("but not if only a workflow task was lost", func(t *testing.T) {
		if c := overtaken(t, 1); len(c.deletes) != 1 {
			t.Errorf("deletes %+v", c.deletes)
		}
	})
}

// A row without a Job is of a run that was given up too early: its Job turned up, and takes the row's place.
func TestAJobThatTurnsUpTakesThePlaceOfTheRowOfItsTime(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *", forbid), at("09:55")).at(at("09:55"))
	c.trigger(at("09:59")).at(at("10:00"))
	c.edit(at("10:00:30"), suspended)
	c.edit(at("10:01"), func(s *schedule.Spec) { s.Suspend, s.CatchUp = false, "none" })
	c.at(at("10:10"))
	wantStrings(t, "ledger before", c.ledger(), "19T09:59:00 Started manual", "19T10:00:00 SkippedOverlap JobAlreadyActive")
	late := schedule.Run{Name: "hello-24394200", UID: "late", Scheduled: at("10:00"), Started: at("10:00:20")}
	c.state = schedule.RecoverJobs(c.state, []schedule.RecoveredJob{{Run: late}})
	c.at(at("10:10:05"))
	wantStrings(t, "ledger", c.ledger(), "19T09:59:00 Started manual", "19T10:00:00 Started")
}

// The Job's row is in the status, and the row that it replaced in the ledger of the state before.
func TestATimeHasOneRowAfterItsJobTurnedUp(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55")).at(at("10:00"))
	status := c.status
	former := ledger.Ledger{Entries: []ledger.Entry{{Scheduled: at("10:00"), Outcome: ledger.SkippedOverlap, Reason: ledger.ReasonJobAlreadyActive}}}
	c.state = schedule.NewState(c.state.Identity, status, former, nil)
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started")
}
