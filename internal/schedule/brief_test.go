package schedule_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/schedule"
)

// brief is a CronJob of every minute whose run of 10:01 took so long, at 10:02.
func brief(t *testing.T, took time.Duration, options ...specOption) *cluster {
	t.Helper()
	c := newCluster(t, cronSpec("* * * * *", options...), at("10:00:10")).at(at("10:00:10")).at(at("10:01"))
	return c.finish(batchv1.JobComplete, at("10:01").Add(took)).at(at("10:02"))
}

func TestABriefRunIsOneWriteOfTheStatus(t *testing.T) {
	c := brief(t, time.Second)
	if len(c.status.Active) != 0 || len(c.running) != 1 || !c.status.LastScheduleTime.Time.Equal(at("10:01")) {
		t.Fatalf("status %+v at the start of a run that is expected to be brief", c.status)
	}
	wantTime(t, "wake", c.wake, "10:02:02")
	calls := c.calls
	c.finish(batchv1.JobComplete, at("10:02:01"))
	if len(c.status.Active) != 0 || !c.status.LastScheduleTime.Time.Equal(at("10:02")) || !c.status.LastSuccessfulTime.Time.Equal(at("10:02:01")) {
		t.Errorf("status %+v at its end", c.status)
	}
	if len(c.status.RecentRuns) != 2 || c.status.RecentRuns[0].Result != string(schedule.RunComplete) {
		t.Errorf("recent runs %+v", c.status.RecentRuns)
	}
	if c.calls != calls+1 {
		t.Errorf("%d calls for the end", c.calls-calls)
	}
	wantTime(t, "wake", c.wake, "10:03")
}

// TestARunThatLastsIsActiveAfterTwoSeconds: and the next one at once.
func TestARunThatLastsIsActiveAfterTwoSeconds(t *testing.T) {
	c := brief(t, time.Second).at(at("10:02:02"))
	if len(c.status.Active) != 1 || !c.status.LastScheduleTime.Time.Equal(at("10:02")) {
		t.Fatalf("status %+v", c.status)
	}
	c.finish(batchv1.JobComplete, at("10:02:30")).at(at("10:03"))
	if len(c.status.Active) != 1 || !c.status.LastScheduleTime.Time.Equal(at("10:03")) {
		t.Errorf("status %+v at the start of the run after one that lasted", c.status)
	}
}

func TestTheStatusOfAStartIsWrittenAtOnce(t *testing.T) {
	atOnce := func(t *testing.T, c *cluster) {
		t.Helper()
		if len(c.status.Active) != len(c.running) || len(c.running) == 0 {
			t.Errorf("status %+v, running %v", c.status, c.running)
		}
	}
	t.Run("of the first run", func(t *testing.T) {
		atOnce(t, newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10")).at(at("10:01")))
	})
	t.Run("after a run of two seconds", func(t *testing.T) { atOnce(t, brief(t, 2*time.Second)) })
	t.Run("where the status guards the number of runs", func(t *testing.T) {
		atOnce(t, brief(t, time.Second, forbid))
		atOnce(t, brief(t, time.Second, atMost(5)))
	})
	t.Run("of a trigger", func(t *testing.T) {
		c := brief(t, time.Second)
		c.finish(batchv1.JobComplete, at("10:02:01"))
		atOnce(t, c.trigger(at("10:02:10")))
	})
	t.Run("after a run that failed", func(t *testing.T) {
		c := newCluster(t, cronSpec("* * * * *"), at("10:00:10")).at(at("10:00:10")).at(at("10:01"))
		atOnce(t, c.finish(batchv1.JobFailed, at("10:01:01")).at(at("10:02")))
	})
	t.Run("where another starts meanwhile", func(t *testing.T) {
		atOnce(t, brief(t, time.Second).trigger(at("10:02:01")))
	})
	t.Run("where the object is edited meanwhile", func(t *testing.T) {
		atOnce(t, brief(t, time.Second).edit(at("10:02:01"), limits(1, 1)))
	})
}

// TestAStatusLacksNoRunForMoreThanTwoSeconds: whatever happens, once the workflow knows of the
// run and a task has ended since. A task that is lost wrote nothing that is known.
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
				if c.lost {
					c.at(c.now)
				}
				if c.lost {
					continue
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
