package schedule_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/schedule"
)

// A workflow task creates a run's Job and is lost with its worker. The one that repeats it
// comes to other decisions, since time has passed or something was edited.
func TestARunThatAForgottenTaskStartedIsInTheLedger(t *testing.T) {
	const hourly = "0 * * * *"
	for name, test := range map[string]struct {
		spec   schedule.Spec
		then   func(*cluster)
		ledger []string
		active int
		runs   int
	}{
		"the task is repeated at once: the Job is found by its name": {
			cronSpec(hourly, forbid), func(c *cluster) { c.at(at("10:00:10")) },
			[]string{"19T10:00:00 Started"}, 1, 1,
		},
		"after its starting deadline": {
			cronSpec(hourly, deadline(5)), func(c *cluster) { c.at(at("10:00:10")) },
			[]string{"19T10:00:00 Started"}, 1, 1,
		},
		"after the next time, which concurrencyPolicy Forbid holds back": {
			cronSpec(hourly, forbid), func(c *cluster) { c.at(at("11:00")) },
			[]string{"19T10:00:00 Started"}, 1, 1,
		},
		"after the next time, whose run replaces it": {
			cronSpec(hourly, replace), func(c *cluster) { c.at(at("11:00")) },
			[]string{"19T10:00:00 Started", "19T11:00:00 Started"}, 1, 2,
		},
		"days later, between times that were missed": {
			cronSpec(hourly), func(c *cluster) { c.at(at("2016-05-21T10:00:00Z")) },
			[]string{"19T10:00:00 Started", "19T11:00:00..21T09:00:00 x47 SkippedSuperseded Outage", "21T10:00:00 Started"}, 2, 2,
		},
		"after the schedule was edited": {
			cronSpec(hourly), func(c *cluster) { c.edit(at("10:00:10"), func(s *schedule.Spec) { s.Schedule = "30 * * * *" }) },
			[]string{"19T10:00:00 Started"}, 1, 1,
		},
		"after a suspension, which has no outcome for its times before it ends": {
			cronSpec(hourly), func(c *cluster) { c.edit(at("10:00:10"), suspended) },
			nil, 1, 1,
		},
		"after a suspension that has ended": {
			cronSpec(hourly, deadline(60)), func(c *cluster) {
				c.edit(at("10:00:10"), suspended)
				c.edit(at("12:30"), func(s *schedule.Spec) { s.Suspend = false })
			},
			[]string{"19T10:00:00 Started", "19T11:00:00..19T12:00:00 x2 SkippedSuspended Suspended"}, 1, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:30")).at(at("09:30"))
			c.forget = true
			c.at(at("10:00"))
			if len(c.starts) != 1 || len(c.state.Active) != 0 {
				t.Fatalf("the task was not forgotten: %d starts, active %v", len(c.starts), c.state.Active)
			}
			test.then(c)
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
			if len(c.starts) != test.runs || len(c.state.Active) != test.active || len(c.status.Active) != test.active {
				t.Errorf("%d starts, %d active, %d in status, want %d and %d", len(c.starts), len(c.state.Active), len(c.status.Active), test.runs, test.active)
			}
		})
	}
}

func TestATriggersRunThatAForgottenTaskStartedHoldsBackTheNext(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("09:30"))
	c.forget = true
	c.trigger(at("09:59:55"))
	c.at(at("10:00:05"))
	wantStrings(t, "ledger", c.ledger(), "19T09:59:55 Started manual")
	if len(c.starts) != 1 {
		t.Errorf("starts: %+v", c.starts)
	}
}

func TestAJobThatNobodyStartedIsTakenIn(t *testing.T) {
	made := schedule.Run{Name: "hello-by-hand", UID: "by-hand", Scheduled: at("09:40"), Manual: true, Started: at("09:40")}
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:30")).at(at("09:30"))
	c.state = schedule.Found(c.state, []schedule.Sighting{{Run: made}}, time.Time{})
	c.at(at("09:41"))
	wantStrings(t, "events", c.reasons(), "UnexpectedJob")
	wantStrings(t, "ledger", c.ledger(), "19T09:40:00 Started manual")
	c.at(at("10:00"))
	wantStrings(t, "runs, which Forbid holds back", c.started())
	c.state = schedule.Found(c.state, []schedule.Sighting{{Run: made}}, time.Time{})
	c.at(at("10:00:01"))
	wantStrings(t, "events, when it is found again", c.reasons(), "UnexpectedJob", "JobAlreadyActive")
}

func TestSettlingWithoutAStartCostsOneSearchAndRunsOnTimeNone(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10"))
	for range 50 {
		c.at(c.wake)
	}
	if c.searches != 0 || len(c.starts) != 50 {
		t.Errorf("%d searches for %d runs", c.searches, len(c.starts))
	}
	if c.at(c.now.Add(3 * time.Hour)); c.searches != 1 {
		t.Errorf("%d searches after three hours", c.searches)
	}
}

func TestAStatusThatCantBeWrittenStopsNoRun(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	c.refuseStatus = true
	c.at(at("09:30"))
	wantTime(t, "wake for the status", c.wake, "09:30:10")
	c.at(at("10:00")).at(at("11:00"))
	wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
	calls := c.calls
	if c.at(at("11:00:01")); c.calls != calls {
		t.Error("the status is tried again at once")
	}
	c.refuseStatus = false
	c.at(c.wake)
	if c.status.LastScheduleTime == nil || !c.status.LastScheduleTime.Time.Equal(at("11:00")) || len(c.status.Active) != 2 {
		t.Errorf("status %+v", c.status)
	}
}

func TestAnotherPlanDoesNotEndTheBackoffOfHistoryDeletes(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", limits(0, 0)), at("09:30")).at(at("10:00"))
	c.stuck = []string{c.starts[0].Name}
	c.finish("Complete", at("10:05"))
	wantTime(t, "wake", c.wake, "10:05:10")
	before := c.state.Prune
	c.trigger(at("10:05:05"))
	if c.state.Prune != before {
		t.Errorf("the back-off is %+v, was %+v", c.state.Prune, before)
	}
}

// An edited schedule counts from its edit, also for a workflow that starts over from the
// object.
func TestTheTimesBeforeAnEditStaySettledWhenTheWorkflowStartsOver(t *testing.T) {
	c := newCluster(t, cronSpec("0 6 * * *"), at("2016-05-18T09:30:00Z")).at(at("2016-05-19T06:00:00Z"))
	c.edit(at("12:10"), func(s *schedule.Spec) { s.Schedule = "0 * * * *" })
	anew := restored(t, c.spec, at("2016-05-18T09:30:00Z"), c.status, nil).at(at("12:20"))
	wantStrings(t, "runs", anew.started())
	anew.at(at("13:00"))
	wantStrings(t, "runs", anew.started(), "2016-05-19T13:00:00Z")
}

func TestWhatIsKnownFitsIntoARequest(t *testing.T) {
	var state schedule.State
	for range 20_000 {
		state.Active = append(state.Active, schedule.Run{UID: "old"})
		state.Finished = append(state.Finished, schedule.Finished{Run: schedule.Run{UID: "new"}})
	}
	if known := state.Known(); len(known) != 10_000 {
		t.Errorf("%d are known", len(known))
	}
}

func TestATriggersRunThatAForgottenTaskStartedKeepsItsNote(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
	c.forget = true
	c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{Note: "for the audit"}, at("09:40"))
	c.at(at("09:40"))
	c.edit(at("09:40:10"), suspended)
	wantStrings(t, "ledger", c.ledger(), "19T09:40:00 Started manual")
	if row := c.state.Ledger[0]; row.Message != "for the audit" || len(c.starts) != 1 {
		t.Errorf("%d starts, row %+v", len(c.starts), row)
	}
}

// The time of a run that was found during a suspension is settled at its end, and its Job
// may have been replaced by then.
func TestARunThatWasFoundAndThenReplacedHasItsEndInTheLedger(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", replace), at("09:30")).at(at("09:30"))
	c.forget = true
	c.at(at("10:00")).edit(at("10:00:10"), suspended).trigger(at("10:10"))
	c.edit(at("10:20"), func(s *schedule.Spec) { s.Suspend = false })
	wantStrings(t, "ledger", c.ledger(), "19T10:10:00 Started manual", "19T10:00:00 Started")
	if row := c.state.Ledger[1]; row.Result != schedule.RunDeleted || row.ResultReason != schedule.ResultReasonReplaced || !row.Ended.Equal(at("10:10")) {
		t.Errorf("row %+v", row)
	}
}
