package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func resumed(s *schedule.Spec) { s.Suspend = false }

func TestEachTimeHasOneOutcomeThatSaysWhy(t *testing.T) {
	const hourly = "0 * * * *"
	refusing := func(times int) func(schedule.Start) string {
		return func(schedule.Start) string {
			if times--; times >= 0 {
				return "exceeded quota"
			}
			return ""
		}
	}
	for name, test := range map[string]struct {
		spec   schedule.Spec
		do     func(*cluster)
		ledger []string
		// message is that of the last row.
		message string
	}{
		"in time":                 {cronSpec(hourly), func(c *cluster) { c.at(at("10:00")) }, []string{"19T10:00:00 Started"}, ""},
		"a minute later is still": {cronSpec(hourly), func(c *cluster) { c.at(at("10:01")) }, []string{"19T10:00:00 Started"}, ""},
		"late since nobody was there": {
			cronSpec(hourly), func(c *cluster) { c.at(at("10:01:01")) }, []string{"19T10:00:00 StartedLate Outage"}, "",
		},
		"late since the API server was away": {
			cronSpec(hourly), func(c *cluster) { c.outage = 2 * time.Minute; c.at(at("10:00")) }, []string{"19T10:00:00 StartedLate Outage"}, "",
		},
		"late since a run was active": {
			cronSpec(hourly, forbid), func(c *cluster) {
				c.at(at("10:00")).at(at("11:00")).finish(batchv1.JobComplete, at("11:20"))
			},
			[]string{"19T10:00:00 Started", "19T11:00:00 StartedLate JobAlreadyActive"}, "",
		},
		"late since the API server refused it at first": {
			cronSpec(hourly), func(c *cluster) {
				c.refuse = refusing(4)
				for c.at(at("10:00")); len(c.starts) == 0; c.at(c.wake) {
					continue
				}
			},
			[]string{"19T10:00:00 StartedLate FailedCreate"}, "Forbidden: exceeded quota",
		},
		"late since the CronJob was suspended": {
			cronSpec(hourly), func(c *cluster) { c.edit(at("09:50"), suspended).edit(at("10:30"), resumed) },
			[]string{"19T10:00:00 StartedLate Suspended"}, "",
		},
		"not by its deadline": {
			cronSpec(hourly, deadline(10)), func(c *cluster) { c.at(at("10:00:30")) },
			[]string{"19T10:00:00 SkippedDeadline StartingDeadlineExceeded"}, "",
		},
		"not beside a run": {
			cronSpec(hourly, forbid), func(c *cluster) { c.at(at("10:00")).at(at("11:00")).at(at("12:00")) },
			[]string{"19T10:00:00 Started", "19T11:00:00 SkippedOverlap JobAlreadyActive"}, "",
		},
		"not while suspended": {
			cronSpec(hourly, deadline(10)), func(c *cluster) { c.edit(at("09:50"), suspended).edit(at("11:30"), resumed) },
			[]string{"19T10:00:00..19T11:00:00 x2 SkippedSuspended Suspended"}, "",
		},
		"a later one was due before anybody was there": {
			cronSpec(hourly), func(c *cluster) { c.at(at("12:00")) },
			[]string{"19T10:00:00..19T11:00:00 x2 SkippedSuperseded Outage", "19T12:00:00 Started"}, "",
		},
		"the schedule was edited before": {
			cronSpec(hourly, forbid), func(c *cluster) { c.at(at("10:00")).at(at("11:00")).edit(at("11:10"), on("30 * * * *")) },
			[]string{"19T10:00:00 Started", "19T11:00:00 SkippedSuperseded ScheduleChanged"}, "",
		},
		"refused for as long as it was due": {
			cronSpec(hourly, deadline(25)), func(c *cluster) {
				c.refuse = refusing(100)
				c.at(at("10:00")).at(at("10:00:10")).at(at("10:00:30"))
			},
			[]string{"19T10:00:00 FailedToCreate Forbidden"}, "exceeded quota",
		},
		"a trigger": {
			cronSpec(hourly), func(c *cluster) { c.trigger(at("09:40")) }, []string{"19T09:40:00 Started manual"}, "by hand",
		},
		"a trigger that was refused at first": {
			cronSpec(hourly), func(c *cluster) {
				c.refuse = refusing(4)
				for c.trigger(at("09:40")); len(c.starts) == 0; c.at(c.wake) {
					continue
				}
			},
			[]string{"19T09:40:00 StartedLate FailedCreate manual"}, "Forbidden: exceeded quota",
		},
		"a trigger beside a run": {
			cronSpec(hourly, forbid), func(c *cluster) { c.at(at("10:00")).trigger(at("10:20")) },
			[]string{"19T10:00:00 Started", "19T10:20:00 SkippedOverlap JobAlreadyActive manual"}, "by hand",
		},
		"a trigger of a CronJob that is being deleted": {
			cronSpec(hourly, deleting), func(c *cluster) { c.trigger(at("09:40")) },
			[]string{"19T09:40:00 SkippedSuperseded Deleting manual"}, "by hand",
		},
		"a trigger that is refused until it is given up": {
			cronSpec("0 0 1 1 *"), func(c *cluster) {
				c.refuse = refusing(100)
				for c.trigger(at("09:40")); len(c.state.Triggers) > 0; c.at(c.wake) {
					continue
				}
			},
			[]string{"19T09:40:00 FailedToCreate Forbidden manual"}, "exceeded quota",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:30")).at(at("09:30"))
			test.do(c)
			wantStrings(t, "ledger", c.ledger(), test.ledger...)
			if last := c.state.Ledger.Entries[len(c.state.Ledger.Entries)-1]; last.Message != test.message {
				t.Errorf("message %q, want %q", last.Message, test.message)
			}
		})
	}
}

func TestTooManyTriggersAreSkipped(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	for range 101 {
		c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("09:40"))
	}
	wantStrings(t, "ledger", c.ledger(), "19T09:40:00 SkippedOverlap TooManyTriggers manual")
}

func TestTheLedgerIsBounded(t *testing.T) {
	c := newCluster(t, cronSpec("*/10 * * * *"), at("09:59:30")).at(at("09:59:30"))
	for range 400 {
		c.at(c.wake)
	}
	if len(c.state.Ledger.Entries) != 300 || c.state.Ledger.Dropped != 100 {
		t.Errorf("%d entries, %d dropped", len(c.state.Ledger.Entries), c.state.Ledger.Dropped)
	}
	if len(c.status.RecentRuns) != 10 {
		t.Errorf("%d rows in status", len(c.status.RecentRuns))
	}
	wantTime(t, "the newest comes first", c.status.RecentRuns[0].ScheduledTime.Time, "2016-05-22T04:30:00Z")
	c.refuse = func(schedule.Start) string { return strings.Repeat("é", 1000) }
	c.at(c.wake).at(at("2016-05-22T04:50:00Z"))
	if message := c.state.Ledger.Entries[299].Message; len(message) > 256 || !strings.HasSuffix(message, "é...") {
		t.Errorf("message of %d bytes: %s", len(message), message)
	}
}

// The rows of a day stay whole, with Jobs, reasons and ends, for a CronJob that runs each minute.
func TestTheLedgerHasADayOfACronJobThatRunsEachMinute(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *", limits(0, 0)), at("09:59:30")).at(at("09:59:30"))
	for range 1600 {
		c.at(c.wake).finish(batchv1.JobComplete, c.now)
	}
	newest := c.state.Ledger.Entries[len(c.state.Ledger.Entries)-1].Scheduled
	page := schedule.PageOf(c.state, ledger.Question{Limit: 50, Since: newest.Add(-24 * time.Hour), Until: newest.Add(-24*time.Hour + 9*time.Minute)})
	if len(page.Rows) != 10 || page.Dropped != 100 {
		t.Errorf("%d rows of ten minutes, %d dropped", len(page.Rows), page.Dropped)
	}
	for _, row := range page.Rows {
		if row.Outcome != ledger.Started || row.Result != ledger.Complete || row.Job == "" || row.Duration == "" {
			t.Errorf("a row of yesterday is %+v", row)
		}
	}
}

func TestPagesOfTheLedger(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *"), at("09:59:30")).at(at("09:59:30"))
	for range 305 {
		c.at(c.wake)
	}
	var times []string
	var pages int
	for before := int64(0); pages < 10; pages++ {
		page := schedule.PageOf(c.state, ledger.Question{Before: before, Limit: 70})
		for _, row := range page.Rows {
			times = append(times, row.Scheduled.Format("15:04"))
		}
		if pages == 1 {
			// What is new meanwhile moves nothing.
			c.at(c.wake).at(c.wake)
		}
		if before = page.Before; before == 0 {
			break
		}
	}
	if pages != 4 || len(times) != 305 || times[0] != "15:04" || times[304] != "10:00" {
		t.Errorf("%d rows, from %s to %s, next page %d", len(times), times[0], times[len(times)-1], pages)
	}
	for _, before := range []int64{1, -5, 1 << 60} {
		if page := schedule.PageOf(c.state, ledger.Question{Before: before, Limit: -1}); len(page.Rows) > 1 {
			t.Errorf("before %d: %d rows", before, len(page.Rows))
		}
	}
}

func TestEachOutcomeIsTalliedOnce(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30")).at(at("12:30")).trigger(at("12:40"))
	state, tallies := schedule.Tallied(c.state)
	want := []ledger.Tally{
		{Outcome: ledger.SkippedSuperseded, Times: 2}, {Outcome: ledger.StartedLate, Times: 1}, {Outcome: ledger.Started, Times: 1},
	}
	if len(tallies) != 3 || tallies[0] != want[0] || tallies[1] != want[1] || tallies[2] != want[2] {
		t.Errorf("got %+v", tallies)
	}
	c.state = state
	if _, tallies = schedule.Tallied(c.at(at("12:50")).state); len(tallies) != 0 {
		t.Errorf("again: %+v", tallies)
	}
}

// A run that starts at its time has not waited, whatever the policy; one that was refused waits from then on.
func TestOnlyARunThatWaitsIsTalliedAsQueued(t *testing.T) {
	for name, test := range map[string]struct {
		options []specOption
		do      func(*cluster)
		queued  int64
	}{
		"Queue, each ends before the next":       {[]specOption{queue}, func(c *cluster) { c.runs(jobComplete, jobComplete, jobComplete) }, 0},
		"catchUp all, each ends before the next": {[]specOption{catchUpAll}, func(c *cluster) { c.runs(jobComplete, jobComplete, jobComplete) }, 0},
		"Queue, two come while one runs":         {[]specOption{queue}, func(c *cluster) { c.at(at("10:00")).at(at("11:00")).at(at("12:00")) }, 2},
		"Queue, its Job is refused": {[]specOption{queue}, func(c *cluster) {
			c.refuse = func(schedule.Start) string { return "exceeded quota" }
			c.at(at("10:00"))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *", test.options...), at("09:30")).at(at("09:30"))
			test.do(c)
			var queued int64
			_, tallies := schedule.Tallied(c.state)
			for _, tally := range tallies {
				if tally.Outcome == ledger.Queued {
					queued += tally.Times
				}
			}
			assert.Equal(t, test.queued, queued, "%+v", tallies)
		})
	}
}

func TestAReasonThatNobodyGivesIsAnAnswerOfSomeKind(t *testing.T) {
	evil := ostinatov1.RecentRun{ScheduledTime: metav1.NewTime(at("09:00")), Outcome: string(ledger.FailedToCreate), Reason: "Evil"}
	state := schedule.NewState(schedule.Identity{}, ostinatov1.CronJobStatus{RecentRuns: []ostinatov1.RecentRun{evil}}, ledger.Ledger{}, nil)
	if len(state.Ledger.Entries) != 1 || state.Ledger.Entries[0].Reason != ledger.RefusedOtherwise {
		t.Errorf("ledger %+v", state.Ledger.Entries)
	}
}

// TestTheLedgerHasARowOfATriggerThatWaits, until it has its outcome.
func TestTheLedgerHasARowOfATriggerThatWaits(t *testing.T) {
	ada := schedule.TriggerRequest{Asked: ledger.Asked{Through: ledger.ThroughSignal}}
	newest := func(c *cluster) ledger.Row {
		return schedule.PageOf(c.state, ledger.Question{Limit: 1}).Rows[0]
	}
	c := newCluster(t, cronSpec("0 * * * *", queue), at("09:30")).at(at("10:00")).ask("10:10", ada)
	row := newest(c)
	assert.Equal(t, "Queued JobAlreadyActive", string(row.Outcome)+" "+row.Reason)
	assert.Equal(t, ledger.Asked{By: "ada", Through: "signal"}, row.Asked)
	assert.Equal(t, "Started", c.status.LastOutcome, "the status is of what has happened")
	c.refuse = func(schedule.Start) string { return "exceeded quota" }
	c.finish(jobComplete, at("10:20"))
	row = newest(c)
	assert.Equal(t, "Queued FailedCreate Forbidden: exceeded quota", string(row.Outcome)+" "+row.Reason+" "+row.Message)
	c.refuse = nil
	c.at(c.wake)
	row = newest(c)
	assert.Equal(t, "hello", row.Job[:5])
	assert.Len(t, schedule.PageOf(c.state, ledger.Question{Limit: 50}).Rows, 2)
}
