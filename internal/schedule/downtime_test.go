package schedule_test

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// Everything is stopped for three hours under a CronJob of every minute, or over the three
// runs of a working day. Upstream's estimate loses the last: every time has its
// outcome, whatever is caught up.
func TestNoTimeOfADowntimeIsUnknown(t *testing.T) {
	minutely, working := downtime{"* * * * *", "09:59:30", "10:00:30", "13:00:30", 180}, downtime{"30 10,11,12 * * 1-5", "2016-05-18T12:00:00Z", "10:00", "13:00", 3}
	for name, test := range map[string]struct {
		downtime
		options []specOption
		started int
		ledger  []string
	}{
		"every minute, the latest": {minutely, nil, 1, []string{
			"19T10:00:00 Started", "19T10:01:00..19T12:59:00 x179 SkippedSuperseded Outage", "19T13:00:00 Started",
		}},
		"every minute, none": {minutely, []specOption{catchUpNone}, 1, []string{
			"19T10:00:00 Started", "19T10:01:00..19T12:59:00 x179 SkippedDeadline NotCaughtUp", "19T13:00:00 Started",
		}},
		"every minute, all":            {minutely, []specOption{catchUpAll, catchUpLimit(1000)}, 180, nil},
		"every minute, all of an hour": {minutely, []specOption{catchUpAll, catchUpWindow(3600)}, 60, nil},
		"every minute, a hundred":      {minutely, []specOption{catchUpAll}, 100, nil},
		"every minute, all in a queue": {minutely, []specOption{catchUpAll, catchUpLimit(1000), queue}, 1, []string{
			"19T10:00:00 Started", "19T10:01:00 StartedLate Outage", "19T10:02:00..19T13:00:00 x179 Queued JobAlreadyActive",
		}},
		"three runs of a working day, the latest": {working, nil, 1, []string{
			"18T12:30:00 Started", "19T10:30:00..19T11:30:00 x2 SkippedSuperseded Outage", "19T12:30:00 StartedLate Outage",
		}},
		"three runs of a working day, none": {working, []specOption{catchUpNone}, 0, []string{
			"18T12:30:00 Started", "19T10:30:00..19T12:30:00 x3 SkippedDeadline NotCaughtUp",
		}},
		"three runs of a working day, all": {working, []specOption{catchUpAll}, 3, []string{
			"18T12:30:00 Started", "19T10:30:00 StartedLate Outage", "19T11:30:00 StartedLate Outage", "19T12:30:00 StartedLate Outage",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec(test.expression, test.options...), at(test.created)).at(at(test.created))
			for c.wake.Before(at(test.down)) {
				if c.at(c.wake); len(c.state.Active) > 0 {
					c.finish(batchv1.JobComplete, c.now.Add(time.Second))
				}
			}
			before, starts := outcomes(c), len(c.started())
			c.at(at(test.up))
			if got := outcomes(c) - before; got != test.times {
				t.Errorf("%d outcomes of the downtime's %d times", got, test.times)
			}
			if got := len(c.started()) - starts; got != test.started {
				t.Errorf("%d runs started, want %d", got, test.started)
			}
			if test.ledger != nil {
				wantStrings(t, "ledger", c.ledger(), test.ledger...)
			}
		})
	}
}

// downtime is a schedule, when its CronJob was created, how long everything was stopped, and
// how many of its times that were.
type downtime struct {
	expression, created, down, up string
	times                         int64
}

func outcomes(c *cluster) int64 {
	var count int64
	for _, entry := range c.state.Rows() {
		count += entry.Times()
	}
	return count
}

var fires = flag.Int("fires", 3000, "how often the CronJob of TestManyRunsAndAPauseLeaveTheStateSmall fires")

// What is carried over and the status stay small whatever happens for how long: the state, of which the ledger's 1,500 rows are the
// most, is compressed to a tenth.
func TestManyRunsAndAPauseLeaveTheStateSmall(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *"), at("10:00:30")).at(at("10:00:30"))
	size := func(value any) int {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return len(data)
	}
	for fire := range *fires {
		c.at(c.wake)
		condition := batchv1.JobComplete
		if fire%7 == 0 {
			condition = batchv1.JobFailed
		}
		c.finish(condition, c.now.Add(10*time.Second))
		c.starts, c.deletes, c.events = c.starts[:0], c.deletes[:0], c.events[:0]
	}
	t.Logf("after %d fires: state %d bytes, status %d bytes", *fires, size(c.state), size(c.status))
	if size(c.state) > 300<<10 || size(c.status) > 8<<10 {
		t.Errorf("state %d bytes, status %d bytes", size(c.state), size(c.status))
	}
	c.edit(c.now, suspended)
	c.edit(c.now.Add(90*24*time.Hour), func(s *schedule.Spec) { s.Suspend = false })
	last := c.state.Ledger.Entries[len(c.state.Ledger.Entries)-2]
	if last.Outcome != ledger.SkippedSuspended || last.Times() < 90*24*60-2 || size(c.state) > 300<<10 {
		t.Errorf("after 90 days of suspension: %+v, state %d bytes", last, size(c.state))
	}
}
