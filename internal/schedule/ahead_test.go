package schedule_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

// aheadOf returns a CronJob whose runs are prepared so long before their time.
func aheadOf(t *testing.T, lead time.Duration, options ...specOption) *cluster {
	t.Helper()
	c := newCluster(t, cronSpec("0 * * * *", options...), at("09:30"))
	c.lead = lead
	return c.at(at("09:30")).at(at("10:00"))
}

func TestRunsArePreparedByTheLead(t *testing.T) {
	c := aheadOf(t, time.Second)
	wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z")
	wantTime(t, "wake", c.wake, "10:59:59")
	c.at(c.wake)
	wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	if start := c.starts[1]; !start.Before.Equal(at("12:00")) {
		t.Errorf("start %+v", start)
	}
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 Started")
	wantTime(t, "the next one is known", c.status.NextScheduleTime.Time, "12:00")

	// Another lead counts for the times that are computed with it.
	c.lead = 0
	c.at(c.wake)
	wantTime(t, "wake", c.wake, "12:59:59")
	c.edit(at("12:30"), func(s *schedule.Spec) { s.Schedule = "0 */2 * * *" })
	wantTime(t, "wake", c.wake, "14:00")
}

func TestAWakeAheadOfTheLastKnownTimeLooksFurther(t *testing.T) {
	c := newCluster(t, cronSpec("0 3 * * *"), at("02:30"))
	c.lead = time.Second
	c.at(at("02:30")).at(at("03:00"))
	for range 20 {
		if c.at(c.wake); c.wake.Second() != 59 && c.wake.Hour() == 3 {
			t.Errorf("wake %s", c.wake)
		}
	}
	if len(c.starts) < 10 {
		t.Fatalf("%d starts", len(c.starts))
	}
	if c.status.NextScheduleTime == nil {
		t.Error("the next time is not known")
	}
}

func TestWhatStandsAgainstAStartIsLeftForItsTime(t *testing.T) {
	t.Run("another run is active", func(t *testing.T) {
		c := aheadOf(t, schedule.MaxLead, forbid)
		wantTime(t, "wake", c.wake, "11:00")
		c.finish(batchv1.JobComplete, at("10:59:59"))
		wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	})
	t.Run("it is suspended while it is held", func(t *testing.T) {
		c := aheadOf(t, schedule.MaxLead)
		c.held = func() { c.change(c.now, suspended) }
		c.at(c.wake)
		wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z")
		c.edit(at("12:30"), func(s *schedule.Spec) { s.Suspend = false })
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 SkippedSuspended Suspended", "19T12:00:00 StartedLate Suspended")
	})
	t.Run("a trigger is tried again", func(t *testing.T) {
		c := aheadOf(t, schedule.MaxLead)
		c.refuse = func(start schedule.Start) string {
			if start.Manual {
				return "exceeded quota"
			}
			return ""
		}
		c.trigger(at("10:59:50"))
		c.at(c.wake).at(c.wake)
		wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	})
}

func TestALeadThatSomebodyMadeUpIsBounded(t *testing.T) {
	for _, lead := range []time.Duration{-time.Hour, time.Hour} {
		c := aheadOf(t, 0)
		c.state.Calendar.Lead = lead
		c.at(at("10:30"))
		if c.wake.Before(at("11:00").Add(-schedule.MaxLead)) || c.wake.After(at("11:00")) {
			t.Errorf("lead %s: wake %s", lead, c.wake)
		}
	}
}
