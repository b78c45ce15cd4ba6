package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// overtake has the state begin anew from a status: as after the loss of the task that wrote it, or after a restore if it is of a
// later generation, by two writes.
func (c *cluster) overtake(generation int64, status ostinatov1.CronJobStatus) *cluster {
	status.Revision, status.ObservedGeneration = 1, generation
	if generation > c.spec.Generation {
		status.Revision = 2
	}
	read := schedule.NewState(c.state.Identity, status, c.state.Ledger, nil)
	c.state = schedule.BeginAnew(c.state, read, status, c.spec.Generation, nil, c.now).State
	return c
}

// The create of 10:00 is unclear, and the status is of an edit that the state has not heard of: 10:00 is no time of the new
// schedule, by which another run is due.
func TestAHeldTimeThatTheScheduleNoLongerNamesHasAnOutcome(t *testing.T) {
	c := unclearAt(t, false)
	accounted := metav1.NewTime(at("09:59:59"))
	c.overtake(c.spec.Generation+1, ostinatov1.CronJobStatus{AccountedUntil: &accounted})
	c.spec = cronSpec("1-59/10 * * * *")
	c.unclear = nil
	c.at(at("10:01"))
	for !c.wake.IsZero() && c.wake.Before(at("10:05")) {
		c.at(c.wake)
	}
	wantStrings(t, "runs", c.started(), "2016-05-19T10:01:00Z")
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 SkippedSuperseded ScheduleChanged", "19T10:01:00 Started")
}

func TestAStateWhoseTaskIsLostKeeps(t *testing.T) {
	t.Run("the times of a former schedule that have no outcome", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", suspended), at("09:55")).at(at("09:55"))
		c.edit(at("10:15"), func(s *schedule.Spec) { s.Schedule = "30 * * * *" })
		c.overtake(c.spec.Generation, ostinatov1.CronJobStatus{})
		c.edit(at("10:16"), func(s *schedule.Spec) { s.Suspend = false })
		wantStrings(t, "ledger", c.ledger(), "19T10:00:00..19T10:10:00 x2 SkippedSuspended Suspended")
	})
	t.Run("the runs that wait", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", queue), at("09:55")).at(at("10:00")).at(at("10:10")).at(at("10:20")).at(at("10:30"))
		status := schedule.StatusOf(c.state, c.spec)
		c.overtake(c.spec.Generation, status)
		c.at(at("10:35"))
		for _, minute := range []string{"10:36", "10:37", "10:38"} {
			c.finish(batchv1.JobComplete, at(minute))
		}
		wantStrings(t, "runs", c.started(), "2016-05-19T10:00:00Z", "2016-05-19T10:10:00Z", "2016-05-19T10:20:00Z", "2016-05-19T10:30:00Z")
	})
	t.Run("the outcomes of times after one that may have started", func(t *testing.T) {
		c := unclearAt(t, false)
		c.silent = true
		c.at(at("10:25"))
		c.overtake(c.spec.Generation, schedule.StatusOf(c.state, c.spec))
		wantStrings(t, "ledger", c.ledger(), "19T10:10:00 SkippedSuperseded Outage")
	})
	t.Run("the failures after which the CronJob is suspended", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *", pauseAfter(1)), at("09:55")).at(at("10:00"))
		c.state = schedule.Finish(c.state, c.spec, schedule.Finished{Run: c.state.Active[0], Condition: batchv1.JobFailed})
		status := schedule.StatusOf(c.state, c.spec)
		c.overtake(c.spec.Generation, status)
		if plan := schedule.Decide(c.evaluated(c.state, at("10:01")), c.spec, at("10:01")); !plan.Pause && plan.Status == nil {
			t.Errorf("the failures are forgotten: %+v", plan)
		}
		c.at(at("10:01"))
		if !c.spec.Suspend {
			t.Errorf("the CronJob goes on after %d failures", c.state.ConsecutiveFailures)
		}
	})
	t.Run("the rows that the status has no room for", func(t *testing.T) {
		c := newCluster(t, cronSpec("*/10 * * * *"), at("09:55"))
		for range 20 {
			c.state = schedule.RefuseTrigger(c.state, schedule.TriggerRequest{}, "unreadable", at("09:57"))
		}
		for now := at("10:00"); now.Before(at("11:00")); now = now.Add(10 * time.Minute) {
			c.at(now)
		}
		before := c.state.Ledger.Entries
		status := schedule.StatusOf(c.state, c.spec)
		// The lost task has started one more run.
		written := *c
		written.at(at("11:00"))
		c.overtake(c.spec.Generation, schedule.StatusOf(written.state, c.spec))
		wantStrings(t, "ledger", c.ledger(), written.ledger()...)
		assert.Equal(t, before, c.state.Ledger.Entries[:len(before)])
		c.overtake(c.spec.Generation+1, status)
		wantStrings(t, "ledger after a restore of the object", c.ledger(), written.ledger()...)
	})
}

// etcd may have been restored, and a basis may be forged: the schema lets a revision rise by a million.
func TestTheNextRevision(t *testing.T) {
	for name, test := range map[string]struct{ basis, object, want int64 }{
		"the object's":                      {7, 7, 8},
		"the object's, which is later":      {7, 9, 10},
		"that of the basis, which is later": {7, 2, 8},
		"no more than a million later":      {schedule.MaxRevision, 2, 1_000_002},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (schedule.Basis{Revision: test.basis}).Next(ostinatov1.CronJobStatus{Revision: test.object}); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
