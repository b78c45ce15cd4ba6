package bridge

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

const (
	// pendingAfter is how long a Job may be under way without a Pod that is ready before it counts as pending.
	pendingAfter = 5 * time.Minute
	// noOutcome stands for that of a CronJob that has not had a scheduled time yet.
	noOutcome = "None"
	// unknownOutcome stands for one that Ostinato never writes.
	unknownOutcome = "Unknown"
)

// namespaceCount is what a census finds in one namespace.
type namespaceCount struct {
	// cronJobs are the CronJobs by the outcome of their last scheduled time.
	cronJobs map[string]int
	// failing are those whose last run to end has failed, failures the most failures in a row of one of them.
	failing  int
	failures int32
	// queued are the runs that wait in queues; longestQueued is how long ago the first of them was due.
	queued        int64
	longestQueued time.Duration
	// active are the Jobs under way, pending those of them that nothing runs of, longest is
	// how long one of them has been under way.
	active, pending int
	longest         time.Duration
}

func (n *namespaceCount) addCronJob(cronJob *ostinatov1.CronJob, now time.Time) {
	n.cronJobs[lastOutcome(cronJob)]++
	if failures := cronJob.Status.ConsecutiveFailures; failures > 0 {
		n.failing++
		n.failures = max(n.failures, failures)
	}
	n.queued += int64(max(cronJob.Status.Queued, 0))
	for _, row := range cronJob.Status.RecentRuns {
		if row.Outcome == string(ledger.Queued) {
			n.longestQueued = max(n.longestQueued, now.Sub(row.ScheduledTime.Time))
		}
	}
}

// lastOutcome returns the outcome of the CronJob's last scheduled time as the value of a
// label: one of few, whatever the status says.
func lastOutcome(cronJob *ostinatov1.CronJob) string {
	switch outcome := cronJob.Status.LastOutcome; {
	case outcome == "":
		return noOutcome
	case slices.Contains(ledger.Outcomes, ledger.Outcome(outcome)):
		return outcome
	}
	return unknownOutcome
}

func (n *namespaceCount) addJob(job *batchv1.Job, now time.Time) {
	if finished(job) || job.DeletionTimestamp != nil || ptr.Deref(job.Spec.Suspend, false) {
		return
	}
	begun := ptr.Deref(job.Status.StartTime, job.CreationTimestamp)
	n.active++
	n.longest = max(n.longest, now.Sub(begun.Time))
	// A Job in back-off has no active Pod: it fails, and is not pending.
	waits := job.Status.StartTime == nil || job.Status.Active > 0 && ptr.Deref(job.Status.Ready, 0) == 0
	if waits && now.Sub(begun.Time) >= pendingAfter {
		n.pending++
	}
}

// namespaceLabel is not called "namespace", since that is the label by which Prometheus
// says where the process is that it scrapes.
const namespaceLabel = "object_namespace"

// gauge is one of the census' metrics, which has a value for each namespace.
type gauge struct {
	desc  *prometheus.Desc
	value func(*namespaceCount) float64
}

func newGauge(name, help string, value func(*namespaceCount) float64) gauge {
	return gauge{prometheus.NewDesc("ostinato_bridge_"+name, help, []string{namespaceLabel}, nil), value}
}

var (
	cronJobsDesc = prometheus.NewDesc("ostinato_bridge_cronjobs", "CronJobs by the outcome of their last scheduled time, as their status says.",
		[]string{namespaceLabel, "last_outcome"}, nil)
	gauges = []gauge{
		newGauge("failing_cronjobs", "CronJobs whose last run to end has failed.",
			func(n *namespaceCount) float64 { return float64(n.failing) }),
		newGauge("consecutive_failures", "The most runs in a row that have failed of one CronJob.",
			func(n *namespaceCount) float64 { return float64(n.failures) }),
		newGauge("queued_runs", "Runs that wait in the queues of CronJobs.",
			func(n *namespaceCount) float64 { return float64(n.queued) }),
		newGauge("longest_queued_run_seconds", "How overdue the oldest queued run is.",
			func(n *namespaceCount) float64 { return n.longestQueued.Seconds() }),
		newGauge("active_jobs", "Jobs under way, without the suspended.",
			func(n *namespaceCount) float64 { return float64(n.active) }),
		newGauge("pending_jobs", "Jobs under way for 5 minutes or more that have no Pod that is ready, those in back-off left out.",
			func(n *namespaceCount) float64 { return float64(n.pending) }),
		newGauge("longest_active_job_seconds", "Age of the oldest Job under way.",
			func(n *namespaceCount) float64 { return n.longest.Seconds() }),
	}
)

// census is what the leader counts in the caches, by namespace. Only a leader has one.
type census struct {
	latest atomic.Pointer[map[string]*namespaceCount]
}

// Describe implements prometheus.Collector.
func (c *census) Describe(descs chan<- *prometheus.Desc) {
	descs <- cronJobsDesc
	for _, gauge := range gauges {
		descs <- gauge.desc
	}
}

// Collect implements prometheus.Collector.
func (c *census) Collect(metrics chan<- prometheus.Metric) {
	latest := c.latest.Load()
	if latest == nil {
		return
	}
	for namespace, n := range *latest {
		for outcome, count := range n.cronJobs {
			metrics <- prometheus.MustNewConstMetric(cronJobsDesc, prometheus.GaugeValue, float64(count), namespace, outcome)
		}
		for _, gauge := range gauges {
			metrics <- prometheus.MustNewConstMetric(gauge.desc, prometheus.GaugeValue, gauge.value(n), namespace)
		}
	}
}

func (c *census) count(objects *objects, now time.Time) {
	counted := map[string]*namespaceCount{}
	of := func(namespace string) *namespaceCount {
		n := counted[namespace]
		if n == nil {
			n = &namespaceCount{cronJobs: map[string]int{}}
			counted[namespace] = n
		}
		return n
	}
	objects.eachCronJob(func(cronJob *ostinatov1.CronJob) { of(cronJob.Namespace).addCronJob(cronJob, now) })
	objects.eachJob(func(job *batchv1.Job) { of(job.Namespace).addJob(job, now) })
	c.latest.Store(&counted)
}
