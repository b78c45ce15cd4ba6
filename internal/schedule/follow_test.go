package schedule_test

import (
	"testing"

	"ostinato.dev/ostinato/internal/schedule"
)

// TestWhenTheStatusFollowsAStart: nothing stands between the create of a Job and its workflow, unless the status is needed at once.
func TestWhenTheStatusFollowsAStart(t *testing.T) {
	every := func(options ...specOption) schedule.Spec { return cronSpec("* * * * *", options...) }
	for name, test := range map[string]struct {
		spec    schedule.Spec
		change  func(*cluster)
		follows bool
	}{
		"of a scheduled run":                   {every(), func(*cluster) {}, true},
		"where it guards that there is one":    {every(forbid), func(*cluster) {}, false},
		"where it guards that one is replaced": {every(replace), func(*cluster) {}, false},
		"where it guards how many there are":   {every(atMost(5)), func(*cluster) {}, false},
		"where it announces an edit too":       {every(), func(c *cluster) { c.change(at("10:00:30"), limits(1, 1)) }, false},
		"where nothing was written before":     {every(), func(c *cluster) { c.state.Reported = nil }, false},
		"of a run that somebody has asked for": {every(), func(c *cluster) { c.state = schedule.AddTrigger(c.state, schedule.TriggerRequest{}, at("10:00:30")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("10:00:10")).at(at("10:00:10"))
			test.change(c)
			plan := schedule.Decide(c.state, c.spec, at("10:01"))
			if plan.Start == nil || (plan.Status == nil) != test.follows {
				t.Fatalf("start %+v, status %+v", plan.Start, plan.Status)
			}
			writes := c.writes
			if c.at(at("10:01")); c.writes == writes || len(c.status.Active) != len(c.running) || len(c.running) == 0 {
				t.Errorf("%d writes, status %+v", c.writes-writes, c.status)
			}
		})
	}
}
