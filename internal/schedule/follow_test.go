package schedule_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/schedule"
)

// starting is a CronJob of every minute whose run of 10:01 has a Job, and no workflow yet.
func starting(t *testing.T, options ...specOption) *cluster {
	t.Helper()
	c := newCluster(t, cronSpec("* * * * *", options...), at("10:00:10")).at(at("10:00:10"))
	c.unbegun = true
	return c.at(at("10:01"))
}

func (c *cluster) listed() bool { return len(c.status.Active) == len(c.running) && len(c.running) > 0 }

func TestTheStatusFollowsTheStartOfTheWorkflow(t *testing.T) {
	c := starting(t)
	if len(c.running) != 1 || c.listed() {
		t.Fatalf("status %+v before the run has a workflow", c.status)
	}
	wantTime(t, "wake", c.wake, "10:02")
	c.state = schedule.Begun(c.state, schedule.Run{Name: "another"})
	if c.at(at("10:01:01")); c.listed() {
		t.Fatalf("status %+v after another run has a workflow", c.status)
	}
	c.state = schedule.Begun(c.state, c.running[0])
	if c.at(at("10:01:01")); !c.listed() || !c.status.LastScheduleTime.Time.Equal(at("10:01")) || len(c.status.RecentRuns) != 1 {
		t.Errorf("status %+v", c.status)
	}
}

func TestTheStatusFollowsNothingForLong(t *testing.T) {
	t.Run("by whatever comes two seconds after the start", func(t *testing.T) {
		if c := starting(t).at(at("10:01:02")); !c.listed() {
			t.Errorf("status %+v", c.status)
		}
	})
	t.Run("by an edit", func(t *testing.T) {
		if c := starting(t).edit(at("10:01:01"), limits(1, 1)); !c.listed() {
			t.Errorf("status %+v", c.status)
		}
	})
	t.Run("by the end of the run", func(t *testing.T) {
		c := starting(t).finish(batchv1.JobComplete, at("10:01:01"))
		if !c.status.LastSuccessfulTime.Time.Equal(at("10:01:01")) || len(c.status.Active) != 0 {
			t.Errorf("status %+v", c.status)
		}
	})
	t.Run("in a state that somebody made up", func(t *testing.T) {
		c := starting(t)
		c.state.Following.Until = at("12:00")
		if c.at(at("10:01:01")); !c.listed() {
			t.Errorf("status %+v", c.status)
		}
	})
}

func TestTheStatusComesWithTheStart(t *testing.T) {
	atOnce := func(t *testing.T, c *cluster) {
		t.Helper()
		if !c.listed() {
			t.Errorf("status %+v, running %v", c.status, c.running)
		}
	}
	t.Run("where it guards the number of runs", func(t *testing.T) {
		atOnce(t, starting(t, forbid))
		atOnce(t, starting(t, atMost(5)))
	})
	t.Run("of a trigger", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10"))
		c.unbegun = true
		atOnce(t, c.trigger(at("10:00:20")))
	})
	t.Run("where it tells of an edit too", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10"))
		c.unbegun = true
		atOnce(t, c.edit(at("10:01"), limits(1, 1)))
	})
	t.Run("where nothing was written before", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10"))
		c.unbegun, c.state.Reported = true, nil
		atOnce(t, c.at(at("10:01")))
	})
}

// TestAStatusLacksNoRunForMoreThanTwoSeconds: whatever happens, once the workflow knows of the
// run and a task has ended since.
func TestAStatusLacksNoRunForMoreThanTwoSeconds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(rt, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10"))
		for range rapid.IntRange(2, 12).Draw(rt, "runs") {
			if next := c.wake; next.After(c.now) {
				c.at(next)
			}
			for range rapid.IntRange(0, 4).Draw(rt, "steps") {
				switch rapid.IntRange(0, 3).Draw(rt, "step") {
				case 0:
					if len(c.state.Active) > 0 {
						c.finish(batchv1.JobComplete, c.now.Add(time.Duration(rapid.IntRange(0, 2500).Draw(rt, "took"))*time.Millisecond))
					}
				case 1:
					c.at(c.now.Add(time.Duration(rapid.IntRange(0, 2500).Draw(rt, "later")) * time.Millisecond))
				case 2:
					c.trigger(c.now)
				case 3:
					c.forget = true
				}
				for _, run := range c.running {
					listed := false
					for _, active := range c.status.Active {
						listed = listed || string(active.UID) == run.UID
					}
					if !listed && c.state.Knows(run) && c.now.Sub(run.Started) >= 2*time.Second {
						rt.Fatalf("at %s: %s, of %s, is not in status %v", c.now, run.Name, run.Started, c.status.Active)
					}
				}
			}
		}
	})
}
