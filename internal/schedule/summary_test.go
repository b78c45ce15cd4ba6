package schedule_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
)

const (
	jobComplete = batchv1.JobComplete
	jobFailed   = batchv1.JobFailed
)

// summary renders the fields of the status that are for tables.
func (c *cluster) summary() string {
	return fmt.Sprintf("%d %s %s", c.status.ActiveCount, c.status.LastResult, c.status.Next)
}

func TestTheStatusInThreeWords(t *testing.T) {
	const hourly = "0 * * * *"
	for name, test := range map[string]struct {
		spec schedule.Spec
		do   func(*cluster)
		want string
	}{
		"new":             {cronSpec(hourly), func(c *cluster) { c.at(at("09:30")) }, "0 - 2016-05-19T10:00:00Z"},
		"a run is active": {cronSpec(hourly), func(c *cluster) { c.at(at("10:00")) }, "1 Running 2016-05-19T11:00:00Z"},
		"two are":         {cronSpec(hourly), func(c *cluster) { c.at(at("10:00")).at(at("11:00")) }, "2 Running 2016-05-19T12:00:00Z"},
		"one of them replaced the other": {
			cronSpec(hourly, replace), func(c *cluster) { c.at(at("10:00")).at(at("11:00")) }, "1 Running 2016-05-19T12:00:00Z",
		},
		"it is complete":    {cronSpec(hourly), func(c *cluster) { c.at(at("10:00")).finish(jobComplete, at("10:10")) }, "0 Complete 2016-05-19T11:00:00Z"},
		"it has failed":     {cronSpec(hourly), func(c *cluster) { c.at(at("10:00")).finish(jobFailed, at("10:10")) }, "0 Failed 2016-05-19T11:00:00Z"},
		"two in a row have": {cronSpec(hourly), func(c *cluster) { c.at(at("09:30")).runs(jobFailed, jobFailed) }, "0 Failed x2 2016-05-19T12:00:00Z"},
		"and one is complete": {
			cronSpec(hourly), func(c *cluster) { c.at(at("09:30")).runs(jobFailed, jobFailed, jobComplete) }, "0 Complete 2016-05-19T13:00:00Z",
		},
		"it was deleted": {
			cronSpec(hourly), func(c *cluster) {
				c.at(at("10:00"))
				c.state = schedule.Missing(c.state, c.state.Active[0], at("10:01"))
				c.at(at("10:01"))
			}, "0 Deleted 2016-05-19T11:00:00Z",
		},
		"what was skipped has no result": {
			cronSpec(hourly, forbid, deadline(60)), func(c *cluster) {
				c.at(at("10:00")).at(at("11:00")).at(at("11:05")).finish(jobFailed, at("11:10"))
			}, "0 Failed 2016-05-19T12:00:00Z",
		},
		"a trigger counts": {cronSpec(hourly), func(c *cluster) { c.trigger(at("09:30")) }, "1 Running 2016-05-19T10:00:00Z"},
		"suspended":        {cronSpec(hourly, suspended), func(c *cluster) { c.at(at("09:30")) }, "0 - Suspended"},
		"suspended since runs have failed": {
			cronSpec(hourly, pauseAfter(2)), func(c *cluster) { c.at(at("09:30")).runs(jobFailed, jobFailed) }, "0 Failed x2 PausedAfterFailures",
		},
		"being deleted":                {cronSpec(hourly, deleting), func(c *cluster) { c.at(at("09:30")) }, "0 - Deleting"},
		"no schedule":                  {cronSpec("?"), func(c *cluster) { c.at(at("09:30")) }, "0 - UnparseableSchedule"},
		"no time zone":                 {cronSpec(hourly, zone("Nowhere/Atall")), func(c *cluster) { c.at(at("09:30")) }, "0 - UnknownTimeZone"},
		"no time that comes":           {cronSpec("0 0 30 2 *"), func(c *cluster) { c.at(at("09:30")) }, "0 - NeverFires"},
		"suspended without a schedule": {cronSpec("?", suspended), func(c *cluster) { c.at(at("09:30")) }, "0 - UnparseableSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:15"))
			if test.do(c); c.summary() != test.want {
				t.Errorf("got %s, want %s", c.summary(), test.want)
			}
			if err := schedule.ValidateStatus(c.status, namespace); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheSummaryOutlivesTheLedger: a status has ten rows of it.
func TestTheSummaryOutlivesTheLedger(t *testing.T) {
	old := newCluster(t, cronSpec("0 * * * *"), at("09:15")).at(at("09:30")).runs(jobFailed, jobFailed)
	old.status.RecentRuns = nil
	for now, want := range map[time.Time]string{at("11:30"): "0 Failed x2 2016-05-19T12:00:00Z", at("12:00"): "1 Running 2016-05-19T13:00:00Z"} {
		if c := restored(t, old.spec, at("09:15"), old.status, old.ended).at(now); c.summary() != want {
			t.Errorf("at %s got %s, want %s", now, c.summary(), want)
		}
	}
}

// TestARunCostsTwoWritesOfTheStatus, however it ends: what sums the status up comes with them.
func TestARunCostsTwoWritesOfTheStatus(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid), at("09:15")).at(at("09:30"))
	for _, ends := range []batchv1.JobConditionType{jobComplete, jobFailed, jobFailed, jobFailed, jobComplete, jobComplete} {
		before := c.writes
		if c.runs(ends); c.writes != before+2 {
			t.Errorf("a run that is %s: %d writes, want 2", ends, c.writes-before)
		}
	}
}
