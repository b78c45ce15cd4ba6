package bridge

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
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
		{"consecutive_failures", []string{"other", "shop"}, 5},
		{"consecutive_failures", []string{"report", "shop"}, 2},
		{"consecutive_failures", []string{"new", "billing"}, 0},
		{"queued_runs", []string{"shop"}, 2},
		{"longest_queued_run_seconds", []string{"shop"}, 80},
		{"active_jobs", []string{"shop"}, 1},
		{"longest_active_job_seconds", []string{"shop"}, 19},
		{"stuck_jobs", []string{"shop"}, 0},
	} {
		assert.Equal(t, metric.want, w.measured("ostinato_bridge_"+metric.name, metric.labels...), "%s of %v", metric.name, metric.labels)
	}
	w.cancel()
	w.stopped()
	assert.Zero(t, w.measured("ostinato_bridge_failing_cronjobs", "shop"), "it leads no more")
}

// TestMetricsNameTheCronJobsThatFailMost: ten of a namespace, and one of two that have the same name.
func TestMetricsNameTheCronJobsThatFailMost(t *testing.T) {
	n := namespaceCount{cronJobs: map[string]int{}, failures: map[string]int32{}, values: map[*prometheus.Desc]float64{}}
	for count := range int32(30) {
		n.addCronJob(cronJob(named("shop", fmt.Sprintf("c%02d", count/2)), failures(count)), after(1))
	}
	assert.Equal(t, []string{"c14", "c13", "c12", "c11", "c10", "c09", "c08", "c07", "c06", "c05"}, n.failingMost())
	assert.EqualValues(t, 29, n.failures["c14"])
	assert.EqualValues(t, 29, n.values[failing], "all of them are counted")
}

func TestWhichJobsAreUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		job   *batchv1.Job
		under int
	}{
		"it runs":           {standalone(running), 1},
		"none has taken it": {standalone(), 1},
		"suspended":         {standalone(suspended), 0},
		"finished":          {standalone(complete), 0},
		"being deleted":     {standalone(running, func(j *batchv1.Job) { j.DeletionTimestamp = at(2) }), 0},
	} {
		n := namespaceCount{values: map[*prometheus.Desc]float64{}}
		n.addJob(test.job, judgement{stuck: true, expected: 15 * time.Minute}, after(902))
		assert.EqualValues(t, test.under, n.values[activeJobs], name)
		assert.EqualValues(t, test.under, n.values[stuckJobs], name)
		assert.EqualValues(t, test.under, n.values[longJobs], name)
	}
}

func TestWhichJobsAreLong(t *testing.T) {
	for name, test := range map[string]struct {
		cronJob *ostinatov1.CronJob
		seconds int
		long    bool
	}{
		"as its CronJob expects":           {cronJob(func(c *ostinatov1.CronJob) { c.Spec.ExpectedDurationSeconds = ptr.To[int64](100) }), 101, false},
		"longer than that":                 {cronJob(func(c *ostinatov1.CronJob) { c.Spec.ExpectedDurationSeconds = ptr.To[int64](100) }), 102, true},
		"three times the median":           {cronJob(func(c *ostinatov1.CronJob) { c.Status.MedianDurationSeconds = 40 }), 121, false},
		"longer than that of a median":     {cronJob(func(c *ostinatov1.CronJob) { c.Status.MedianDurationSeconds = 40 }), 122, true},
		"a minute, of a short one":         {cronJob(func(c *ostinatov1.CronJob) { c.Status.MedianDurationSeconds = 1 }), 61, false},
		"longer than a minute":             {cronJob(func(c *ostinatov1.CronJob) { c.Status.MedianDurationSeconds = 1 }), 62, true},
		"a day, of which nothing is known": {cronJob(), 86_401, false},
		"longer than a day":                {cronJob(), 86_402, true},
	} {
		n := namespaceCount{values: map[*prometheus.Desc]float64{}}
		n.addJob(standalone(running), judgement{expected: schedule.Expected(test.cronJob)}, after(test.seconds))
		assert.Equal(t, test.long, n.values[longJobs] == 1, name)
	}
}

// TestAnOutcomeThatIsNoneOfOursIsUnknown: a status may say anything, and a label only one of few words.
func TestAnOutcomeThatIsNoneOfOursIsUnknown(t *testing.T) {
	for said, want := range map[string]string{"": "None", "Started": "Started", "Queued": "Queued", "Evil1": "Unknown"} {
		cronJob := &ostinatov1.CronJob{Status: ostinatov1.CronJobStatus{LastOutcome: said}}
		assert.Equal(t, want, lastOutcome(cronJob), said)
	}
}
