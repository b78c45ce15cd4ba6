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

func TestRunsArePreparedAsEarlyAsTheLastOnesHadToBe(t *testing.T) {
	c := aheadOf(t, schedule.MostLead)
	wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z")
	wantTime(t, "wake", c.wake, "10:59:58")
	c.at(c.wake)
	wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	if start := c.starts[1]; start.Lead != schedule.MostLead || !start.Before.Equal(at("12:00")) {
		t.Errorf("start %+v", start)
	}
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 Started")
	wantTime(t, "the next one is known", c.status.NextScheduleTime.Time, "12:00")

	// Nobody else wants to start then any more.
	c.lead = 0
	c.at(c.wake)
	wantTime(t, "wake", c.wake, "13:00")
}

// TestTheCrowdOfTheHourIsExpected: a CronJob of every ten minutes is one of many at the full
// hour only.
func TestTheCrowdOfTheHourIsExpected(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55")).at(at("09:55"))
	leads := map[string][]string{}
	runUntil := func(end string, crowded bool) {
		for seen := len(c.starts); c.wake.Before(at(end)); seen = len(c.starts) {
			c.lead = 0
			if due := c.wake.Add(schedule.MostLead).Truncate(time.Minute); crowded && due.Minute() == 0 {
				c.lead = schedule.MostLead
			}
			c.at(c.wake)
			for _, start := range c.starts[seen:] {
				minute := start.Scheduled.Format(":04")
				leads[minute] = append(leads[minute], start.Lead.String())
			}
		}
	}
	runUntil("13:05", true)
	wantStrings(t, "at the full hour", leads[":00"], "0s", "2s", "2s", "2s")
	// What has just been met with is expected once more in any case.
	wantStrings(t, "ten minutes later", leads[":10"], "2s", "2s", "2s")
	wantStrings(t, "at half past", leads[":30"], "0s", "0s", "0s")

	clear(leads)
	runUntil("16:05", false)
	wantStrings(t, "at the full hour, once nobody else is due", leads[":00"], "2s", "0s", "0s")
}

func TestACrowdIsForgottenAfterADay(t *testing.T) {
	c := newCluster(t, cronSpec("0 3 * * 1"), at("02:30"))
	c.lead = schedule.MostLead
	c.at(at("02:30")).at(c.wake)
	if c.state.Crowd.Lead != schedule.MostLead {
		t.Fatalf("crowd %+v", c.state.Crowd)
	}
	c.state.Lead = 0
	c.at(c.now.Add(time.Minute))
	if c.wake.Second() != 0 {
		t.Errorf("wake %s, a week later", c.wake)
	}
}

func TestAWakeAheadOfTheLastKnownTimeLooksFurther(t *testing.T) {
	c := newCluster(t, cronSpec("0 3 * * *"), at("02:30"))
	c.lead = time.Second
	c.at(at("02:30")).at(at("03:00"))
	for range 20 {
		c.at(c.wake)
	}
	if len(c.starts) < 10 {
		t.Fatalf("%d starts", len(c.starts))
	}
	for _, start := range c.starts[1:] {
		if start.Lead != time.Second {
			t.Errorf("start %+v", start)
		}
	}
	if c.status.NextScheduleTime == nil {
		t.Error("the next time is not known")
	}
}

func TestWhatStandsAgainstAStartIsLeftForItsTime(t *testing.T) {
	t.Run("another run is active", func(t *testing.T) {
		c := aheadOf(t, schedule.MostLead, forbid)
		wantTime(t, "wake", c.wake, "11:00")
		c.finish(batchv1.JobComplete, at("10:59:59"))
		wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	})
	t.Run("it is suspended while it is held", func(t *testing.T) {
		c := aheadOf(t, schedule.MostLead)
		c.held = func() { c.change(c.now, suspended) }
		c.at(c.wake)
		wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z")
		c.edit(at("12:30"), func(s *schedule.Spec) { s.Suspend = false })
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 SkippedSuspended Suspended", "19T12:00:00 StartedLate Suspended")
	})
	t.Run("a trigger is tried again", func(t *testing.T) {
		c := aheadOf(t, schedule.MostLead)
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
	t.Run("a run may not be refused for being early for ever", func(t *testing.T) {
		c := aheadOf(t, 0)
		c.refusal, c.refuse = schedule.TooEarly, func(schedule.Start) string { return "the time has not come" }
		c.at(c.wake)
		wantTime(t, "wake", c.wake, "11:00:10")
		c.refuse = nil
		c.at(c.wake)
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T11:00:00 Started")
	})
}

func TestTheLeadIsLongEnoughForWhatWasSeen(t *testing.T) {
	for lag, want := range map[time.Duration]time.Duration{
		-time.Second: 0, 0: 0, 40 * time.Millisecond: 0, 200 * time.Millisecond: 500 * time.Millisecond,
		600 * time.Millisecond: time.Second, 700 * time.Millisecond: 2 * time.Second, time.Hour: 2 * time.Second,
	} {
		if got := schedule.LeadFor(lag); got != want {
			t.Errorf("after %s: %s, want %s", lag, got, want)
		}
	}
}

func TestALeadThatSomebodyMadeUpIsBounded(t *testing.T) {
	for _, lead := range []time.Duration{-time.Hour, time.Hour} {
		c := aheadOf(t, 0)
		c.state.Lead, c.state.Crowd = lead, schedule.Crowd{At: at("10:00"), Lead: lead}
		c.at(at("10:30"))
		if c.wake.Before(at("10:59:58")) || c.wake.After(at("11:00")) {
			t.Errorf("lead %s: wake %s", lead, c.wake)
		}
	}
}
