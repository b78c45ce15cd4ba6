package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// What happens where clocks differ: the table of docs/failures.md.

// A CronJob was created at 10:00:30 by Temporal's clock. Its times count from when it was by the API server's.
func TestTheTimesOfACronJobCountFromItsCreationByTheAPIServer(t *testing.T) {
	for _, test := range []struct {
		created, first string
		ledger         []string
	}{
		{"10:00:30", "10:01", nil},
		{"10:00:35", "10:01", nil},
		{"10:00:25", "10:01", nil},
		{"10:01:30", "10:02", nil},
		{"09:59:30", "10:00", []string{"19T10:00:00 Started"}},
		{"11:00:30", "11:01", nil},
		{"09:00:30", "10:00", []string{"19T09:01:00..19T09:59:00 x59 SkippedSuperseded Outage", "19T10:00:00 Started"}},
	} {
		t.Run(test.created, func(t *testing.T) {
			c := newCluster(t, cronSpec("* * * * *"), at(test.created)).at(at("10:00:30"))
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
			for len(c.starts) == 0 {
				c.at(c.wake)
			}
			wantTime(t, "first run", c.starts[0].Scheduled, test.first)
		})
	}
}

// A run counts as late by when the API server says that its Job was created. It starts when Temporal's clock says.
func TestAnAPIServersClockThatDiffersMakesRunsLateInTheLedgerAlone(t *testing.T) {
	for _, test := range []struct {
		ahead   time.Duration
		outcome string
	}{
		{5 * time.Second, "Started"}, {-5 * time.Second, "Started"},
		{time.Minute, "Started"}, {-time.Minute, "Started"},
		{time.Hour, "StartedLate Outage"}, {-time.Hour, "Started"},
	} {
		t.Run(test.ahead.String(), func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30"))
			c.apart = test.ahead
			c.at(at("10:00")).at(at("11:00"))
			wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T11:00:00Z")
			wantStrings(t, "ledger", c.ledger(), "19T10:00:00 "+test.outcome, "19T11:00:00 "+test.outcome)
		})
	}
	t.Run("set back between two runs", func(t *testing.T) {
		for _, back := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
			c := newCluster(t, cronSpec("* * * * *", limits(1, 1)), at("09:59:30")).at(at("09:59:30")).at(at("10:00"))
			c.apart = -back
			c.at(at("10:01"))
			wantStrings(t, "started", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T10:01:00Z")
			wantStrings(t, "ledger", c.ledger(), "19T10:00:00 Started", "19T10:01:00 Started")
		}
	})
}

// Temporal's clock is set back between two runs of a CronJob. Within one run of its workflow it stands still until it has
// caught up, since the SDK does not let it go back; a workflow that continues it sees the step.
func TestNoTimeComesTwiceWhenTemporalsClockIsSetBack(t *testing.T) {
	for _, lead := range []time.Duration{0, schedule.MaxLead} {
		for _, back := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
			for policy, option := range map[string]specOption{"Allow": allow, "Queue": queue} {
				t.Run(fmt.Sprintf("%s by %s, with a lead of %s", policy, back, lead), func(t *testing.T) {
					c := newCluster(t, cronSpec("* * * * *", option), at("09:59:30"))
					c.lead = lead
					c.at(at("09:59:30"))
					until := func(last string) {
						for len(c.started()) == 0 || c.starts[len(c.starts)-1].Scheduled.Before(at(last)) {
							if c.at(c.wake); len(c.state.Active) > 0 {
								c.finish("Complete", c.now)
							}
						}
					}
					until("10:05")
					before := len(c.starts)
					c.at(at("10:05").Add(-back))
					if len(c.starts) != before {
						t.Errorf("%s starts after the step", c.starts[before].Name)
					}
					wantTime(t, "wake", c.wake, at("10:06").Add(-lead).Format(time.RFC3339))
					until("10:10")
					var want []string
					for minute := range 11 {
						want = append(want, at("10:00").Add(time.Duration(minute)*time.Minute).Format(time.RFC3339))
					}
					wantStrings(t, "started", c.started(), want...)
					if rows := c.ledger(); len(rows) != len(want) || slices.ContainsFunc(c.state.Rows(), func(entry ledger.Entry) bool { return entry.Outcome != ledger.Started }) {
						t.Errorf("ledger %q", rows)
					}
				})
			}
		}
	}
}
