package bridge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
)

// In a herd a Job waits for the workers, which is no reason to think that it was
// forgotten: others of its age begin just now.
func TestTheJobOfARunWaitsAsLongAsOthersBeginLate(t *testing.T) {
	w := newWorld(t, cronJob(taken, nextRun(24*3600)))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	w.clock.SetTime(after(20))
	w.putJob(run("waits", created(20)))
	w.putJob(run("begins", created(20)))
	w.clock.SetTime(after(70))
	w.putJob(run("begins", created(20), running)) // 50 s late
	w.eventually(func() bool {
		seen := w.objects.job(jobKey(run("begins")).NamespacedName)
		return seen != nil && seen.Status.StartTime != nil
	}, "it is seen")

	started := func() bool { return slices.Contains(w.temporal.said(), "start job/shop/report-waits") }
	w.clock.SetTime(after(129))
	assert.Never(t, started, 300*time.Millisecond, 5*time.Millisecond, "started while others of its age begin")
	w.eventually(func() bool { w.clock.Step(time.Second); return started() }, "started when it is later than the others")
	assert.False(t, w.clock.Now().Before(after(130)))
}

func TestWhatAStatusSaysForTheFirstTime(t *testing.T) {
	for name, test := range map[string]struct {
		before, after []string
		job           *batchv1.Job
		want          []time.Time
	}{
		"that a run has begun":      {nil, []string{"r1"}, run("r1", running, created(10)), []time.Time{after(10)}},
		"that a run has ended":      {[]string{"r1"}, nil, run("r1", complete), []time.Time{after(20)}},
		"nothing":                   {[]string{"r1"}, []string{"r1"}, run("r1", running), nil},
		"that another Job is meant": {[]string{"r1"}, []string{"r2"}, run("r1", running, func(j *batchv1.Job) { j.UID = "r0" }), nil},
		"that a run is forgotten":   {[]string{"r1"}, nil, run("r1", running), nil},
	} {
		t.Run(name, func(t *testing.T) {
			find := func(string) *batchv1.Job { return test.job }
			assert.Equal(t, test.want, firstSaid(cronJob(active(test.before...)), cronJob(active(test.after...)), find))
		})
	}
}

// The same holds for a run that status does not list yet.
func TestARunThatStatusLacksIsMentionedLaterWhereAllAreLate(t *testing.T) {
	w := newWorld(t, cronJob(taken, nextRun(24*3600)))
	w.temporal.running[cronJobID] = "c1"
	w.lead().hears("start " + cronJobID)
	mentioned := func() bool {
		return slices.ContainsFunc(w.temporal.said(), func(said string) bool { return strings.HasSuffix(said, "job-seen report-r1") })
	}
	w.clock.SetTime(after(100))
	w.putJob(run("other", created(60)))
	w.eventually(func() bool { return w.objects.job(jobKey(run("other")).NamespacedName) != nil }, "it is seen")
	w.putJob(run("other", created(60), running)) // 40 s late
	w.putJob(run("r1", created(100), running))
	w.put(cronJob(taken, nextRun(24*3600), active("other")))
	w.clock.SetTime(after(149))
	assert.Never(t, mentioned, 300*time.Millisecond, 5*time.Millisecond, "mentioned while all are late")
	w.eventually(func() bool { w.clock.Step(time.Second); return mentioned() }, "mentioned when it is later than the others")
}

// What comes only because the bridge has asked says nothing of the others.
func TestWhatTheBridgeAskedForDoesNotMakeItMorePatient(t *testing.T) {
	controller := newWorld(t).bridge().newController()
	for _, test := range []struct {
		late, grace, want time.Duration
	}{
		{11 * time.Second, closedGrace, 0},
		{9 * time.Second, closedGrace, 9 * time.Second},
		{18 * time.Second, closedGrace, 18 * time.Second},
		{29 * time.Second, closedGrace, 18 * time.Second},
		{79 * time.Second, childGrace, 18 * time.Second},
	} {
		controller.cameByItself(controller.clock.Now().Add(-test.late), test.grace)
		assert.Equal(t, test.want, controller.behind.worstOf(controller.clock.Now()), "after %s", test.late)
	}
}
