package bridge

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// named puts a CronJob into a namespace.
func named(namespace, name string) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) { c.Namespace, c.Name = namespace, name }
}

func failures(count int32) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) { c.Status.ConsecutiveFailures = count }
}

// outcomes are those of the last scheduled times, newest first, a minute apart back from
// the second.
func outcomes(second int, words ...string) func(*ostinatov1.CronJob) {
	return func(c *ostinatov1.CronJob) {
		c.Status.LastOutcome = words[0]
		for i, word := range words {
			c.Status.RecentRuns = append(c.Status.RecentRuns, ostinatov1.RecentRun{ScheduledTime: *at(second - 60*i), Outcome: word})
		}
	}
}

func TestTheLeaderCountsWhatIsWrongInEachNamespace(t *testing.T) {
	w := newWorld(t,
		cronJob(taken, failures(2), outcomes(0, "Started")),
		cronJob(taken, named("shop", "other"), failures(5), outcomes(0, "StartedLate")),
		cronJob(taken, named("shop", "fine"), outcomes(-60, "Queued", "Started"), func(c *ostinatov1.CronJob) { c.Status.Queued = 2 }),
		cronJob(taken, named("billing", "new")),
		standalone(running, func(j *batchv1.Job) { j.Status.Active = 1 }),
	)
	w.lead()
	w.eventually(func() bool { return w.measured("ostinato_bridge_failing_cronjobs", "shop") == 2 }, "two fail")
	for _, metric := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"cronjobs", []string{"Started", "shop"}, 1},
		{"cronjobs", []string{"StartedLate", "shop"}, 1},
		{"cronjobs", []string{"Queued", "shop"}, 1},
		{"cronjobs", []string{"None", "billing"}, 1},
		{"failing_cronjobs", []string{"billing"}, 0},
		{"consecutive_failures", []string{"shop"}, 5},
		{"queued_runs", []string{"shop"}, 2},
		{"longest_queued_run_seconds", []string{"shop"}, 80},
		{"active_jobs", []string{"shop"}, 1},
		{"longest_active_job_seconds", []string{"shop"}, 19},
		{"pending_jobs", []string{"shop"}, 0},
	} {
		assert.Equal(t, metric.want, w.measured("ostinato_bridge_"+metric.name, metric.labels...), "%s of %v", metric.name, metric.labels)
	}
	w.clock.Step(pendingAfter)
	w.eventually(func() bool { return w.measured("ostinato_bridge_pending_jobs", "shop") == 1 }, "the Job is pending")

	w.cancel()
	w.stopped()
	assert.Zero(t, w.measured("ostinato_bridge_failing_cronjobs", "shop"), "it leads no more")
}

func TestWhichJobsAreUnderWayAndPending(t *testing.T) {
	pods := func(active, ready int32) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = active, ptr.To(ready) }
	}
	for _, test := range []struct {
		name                 string
		job                  *batchv1.Job
		now, active, pending int
	}{
		{name: "no Pod starts", job: standalone(running, pods(1, 0)), now: 301, active: 1, pending: 1},
		{name: "no Pod has started yet", job: standalone(running, pods(1, 0)), now: 300, active: 1},
		{name: "one of three runs", job: standalone(running, pods(3, 1)), now: 900, active: 1},
		{name: "in back-off", job: standalone(running, pods(0, 0)), now: 900, active: 1},
		{name: "nobody has taken it", job: standalone(), now: 300, active: 1, pending: 1},
		{name: "nobody has taken it yet", job: standalone(), now: 299, active: 1},
		{name: "suspended", job: standalone(suspended), now: 900},
		{name: "finished", job: standalone(complete), now: 900},
		{name: "being deleted", job: standalone(running, pods(1, 0), func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: after(2)} }), now: 900},
	} {
		n := namespaceCount{values: map[*prometheus.Desc]float64{}}
		n.addJob(test.job, after(test.now))
		assert.EqualValues(t, test.active, n.values[activeJobs], test.name)
		assert.EqualValues(t, test.pending, n.values[pendingJobs], test.name)
	}
}

// TestAnOutcomeThatIsNoneOfOursIsUnknown: a status may say anything, and a label only one of few words.
func TestAnOutcomeThatIsNoneOfOursIsUnknown(t *testing.T) {
	for said, want := range map[string]string{"": "None", "Started": "Started", "Queued": "Queued", "Evil1": "Unknown"} {
		cronJob := &ostinatov1.CronJob{Status: ostinatov1.CronJobStatus{LastOutcome: said}}
		assert.Equal(t, want, lastOutcome(cronJob), said)
	}
}
