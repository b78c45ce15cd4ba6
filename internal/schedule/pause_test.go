package schedule_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

func pauseAfter(failures int32) specOption {
	return func(s *schedule.Spec) { s.PauseAfterFailures = failures }
}

// runs lets one run after the other start and end.
func (c *cluster) runs(conditions ...batchv1.JobConditionType) *cluster {
	c.t.Helper()
	for _, condition := range conditions {
		c.at(c.wake).finish(condition, c.wake.Add(-30*time.Minute))
	}
	return c
}

func (c *cluster) condition(kind string) metav1.Condition {
	for _, condition := range c.status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return metav1.Condition{}
}

func TestFailuresInARowSuspendTheCronJob(t *testing.T) {
	const failed, complete = batchv1.JobFailed, batchv1.JobComplete
	for name, test := range map[string]struct {
		spec    schedule.Spec
		runs    []batchv1.JobConditionType
		suspend bool
	}{
		"as many":                     {cronSpec("0 * * * *", pauseAfter(2)), []batchv1.JobConditionType{failed, failed}, true},
		"fewer":                       {cronSpec("0 * * * *", pauseAfter(2)), []batchv1.JobConditionType{complete, failed}, false},
		"as many, with one between":   {cronSpec("0 * * * *", pauseAfter(2)), []batchv1.JobConditionType{failed, complete, failed}, false},
		"the CronJob does not ask":    {cronSpec("0 * * * *"), []batchv1.JobConditionType{failed, failed, failed}, false},
		"as many, and one was before": {cronSpec("0 * * * *", pauseAfter(1)), []batchv1.JobConditionType{complete, failed}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.spec, at("09:30")).at(at("09:30")).runs(test.runs...)
			if c.paused != test.suspend {
				t.Fatalf("suspended %t, want %t", c.paused, test.suspend)
			}
			if test.suspend && !c.spec.Suspend {
				t.Error("spec.suspend is not set")
			}
		})
	}
}

func TestAPausedCronJobSaysWhyAndGoesOnWhenResumed(t *testing.T) {
	const failed = batchv1.JobFailed
	c := newCluster(t, cronSpec("0 * * * *", pauseAfter(2)), at("09:30")).at(at("09:30")).runs(failed, failed)
	condition := c.condition(ostinatov1.ConditionSuspended)
	if condition.Status != metav1.ConditionTrue || condition.Reason != "PausedAfterFailures" ||
		condition.Message != "2 runs in a row have failed, the last of them hello-24394260 (); set spec.suspend to false to go on" {
		t.Errorf("condition: %+v", condition)
	}
	wantStrings(t, "events", c.reasons(), "SawCompletedJob", "SawCompletedJob", "PausedAfterFailures")
	again := restored(t, c.spec, at("09:30"), c.status, c.ended).at(at("11:35"))
	if kept := again.condition(ostinatov1.ConditionSuspended); kept != condition {
		t.Errorf("after Temporal's data was lost: %+v, want %+v", kept, condition)
	}
	c.edit(at("11:40"), resumed)
	if condition := c.condition(ostinatov1.ConditionSuspended); condition.Reason != "NotSuspended" || condition.Message != "" {
		t.Errorf("after it was resumed: %+v", condition)
	}
	if c.runs(failed); c.spec.Suspend {
		t.Error("suspended again after one failure more")
	}
	if c.runs(failed); !c.spec.Suspend {
		t.Error("not suspended after two more")
	}
}

// While the API server does not answer nothing starts, and the pause comes in the end.
func TestNothingStartsBeforeAPause(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", pauseAfter(1)), at("09:30")).at(at("10:00"))
	c.refusePause = true
	c.finish(batchv1.JobFailed, at("10:30")).at(at("11:00")).at(at("12:00"))
	wantStrings(t, "runs", c.started(), stamps("10:00")...)
	c.refusePause = false
	if c.at(at("12:10")); !c.spec.Suspend {
		t.Error("not suspended")
	}
	c.edit(at("12:20"), resumed)
	wantStrings(t, "runs", c.started(), stamps("10:00", "12:00")...)
}

// Where the API server refuses the pause, the schedule goes on, and as many failures more ask for it again.
func TestFailuresCountAnewFromARefusedPause(t *testing.T) {
	const failed = batchv1.JobFailed
	c := newCluster(t, cronSpec("0 * * * *", pauseAfter(2)), at("09:30")).at(at("09:30"))
	c.refusePause = true
	c.runs(failed, failed)
	c.state = schedule.PauseRefused(c.state, "a policy says no")
	c.at(at("11:40"))
	wantStrings(t, "events", c.reasons(), "SawCompletedJob", "SawCompletedJob", "FailedUpdate")
	c.refusePause = false
	if c.runs(failed); c.spec.Suspend {
		t.Error("suspended after one failure more")
	}
	if c.runs(failed); !c.spec.Suspend {
		t.Error("not suspended after two more")
	}
}

func TestWhoMayBePaused(t *testing.T) {
	object := func(after *int32, failures int32) *ostinatov1.CronJob {
		return &ostinatov1.CronJob{
			Spec:   ostinatov1.CronJobSpec{PauseAfterFailures: after},
			Status: ostinatov1.CronJobStatus{ConsecutiveFailures: failures},
		}
	}
	for name, test := range map[string]struct {
		object *ostinatov1.CronJob
		want   bool
	}{
		"does not ask":  {object(nil, 100), false},
		"no failures":   {object(ptr.To[int32](1), 0), false},
		"fewer":         {object(ptr.To[int32](3), 2), false},
		"as many":       {object(ptr.To[int32](3), 3), true},
		"more, resumed": {object(ptr.To[int32](3), 7), true},
	} {
		if got := schedule.MayPause(test.object); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A person resumes what failures have suspended. The workflow has planned nothing in between, or was lost with what it had planned: the
// failures before the resume do not suspend the CronJob again.
func TestFailuresBeforeAResumeAreForgiven(t *testing.T) {
	for name, resume := range map[string]func(*cluster){
		"that comes before the next plan": func(c *cluster) {
			c.pause()
			c.change(at("11:31"), resumed)
		},
		"after the workflow task that has written the suspension was lost": func(c *cluster) {
			written := *c
			written.pause()
			written.at(at("11:31"))
			c.overtake(c.spec.Generation, written.status)
			c.change(at("11:32"), resumed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, cronSpec("0 * * * *", pauseAfter(2)), at("09:30")).at(at("09:30")).runs(batchv1.JobFailed)
			c.at(at("11:00"))
			c.refusePause = true
			c.finish(batchv1.JobFailed, at("11:30"))
			c.refusePause = false
			resume(c)
			c.paused = false
			if c.at(at("11:40")); c.paused {
				t.Errorf("suspended again after %d failures", c.state.ConsecutiveFailures)
			}
		})
	}
}
