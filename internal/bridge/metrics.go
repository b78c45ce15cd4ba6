package bridge

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/telemetry"
)

// Metrics are the bridge's own metrics.
type Metrics struct {
	queues workqueue.MetricsProvider
	census *census

	leading, cronJobsServed, overdue, nextTimeWrong, temporalShort prometheus.Gauge
	// toHandBack is above 0 only after take-over was given up.
	toHandBack       prometheus.Gauge
	nudges           prometheus.Counter
	messages, errors *prometheus.CounterVec
	paused           *prometheus.GaugeVec
	// ensureSeconds tells how long a Job may be without a workflow.
	ensureSeconds prometheus.Histogram
	// external and builtInWrites count only where Jobs are taken over, builtInCronJobWrites where CronJobs are.
	external                            *prometheus.CounterVec
	builtInWrites, builtInCronJobWrites prometheus.Counter
	// controllers keeps the values of external's label few: the creators of Jobs name them.
	controllers telemetry.LabelValues
}

// NewMetrics registers the bridge's metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	register := promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return register.NewGauge(prometheus.GaugeOpts{Name: "ostinato_bridge_" + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return register.NewCounter(prometheus.CounterOpts{Name: "ostinato_bridge_" + name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		queues:         telemetry.QueueMetrics(registry),
		census:         &census{},
		leading:        gauge("leading", "1 while this process leads."),
		cronJobsServed: gauge("cronjobs_served", "1 while CronJobs are served; 0 where the API server does not have their CRD."),
		overdue:        gauge("overdue_cronjobs", "CronJobs whose next run's time has passed, by more than the grace, without a run."),
		nextTimeWrong:  gauge("wrong_next_times", "CronJobs whose status.nextScheduleTime is missing, or later than their schedule says."),
		temporalShort:  gauge("temporal_short", "1 while the embedded Temporal says that it is short of processor time, or of room on its volume."),
		nudges:         counter("overdue_pokes_total", "Times the workflow of an overdue CronJob was nudged."),
		messages: counters("ostinato_bridge_messages_total", "Starts and signals that Temporal took, by kind and whether a workflow was running.",
			"kind", "workflow"),
		errors: counters("ostinato_bridge_temporal_errors_total", "Starts and signals that failed and are repeated, by kind of error.", "class"),
		ensureSeconds: register.NewHistogram(prometheus.HistogramOpts{
			Name:    "ostinato_bridge_attend_round_duration_seconds",
			Help:    "Time of a round that looks whether every Job under way has its workflow.",
			Buckets: prometheus.ExponentialBuckets(0.1, 4, 8),
		}),
		toHandBack: gauge("jobs_to_hand_back", "Jobs that are another controller's and whose workflow still runs, since they are not drained."),
		paused: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ostinato_bridge_paused_workflows",
			Help: "Workflows of CronJobs, and of Jobs under way, that are paused in Temporal or pinned to a build of the worker.",
		}, []string{"kind"}),
		// It has upstream's name and label (parity 2.16).
		external: counters("job_controller_jobs_by_external_controller_total", "Jobs added that another controller than this one manages.", "controller_name"),
		builtInWrites: counter("builtin_job_status_writes_total",
			"Times kube-controller-manager was seen to write the status of a Job taken over: its job controller runs too."),
		builtInCronJobWrites: counter("builtin_cronjob_status_writes_total",
			"Times kube-controller-manager was seen to write the status of a CronJob taken over: its cronjob controller runs too."),
	}
	registry.MustRegister(m.census)
	// An alert sees no increase in a series that begins with it.
	for _, kind := range []string{"cronjob-start", "job-start"} {
		m.messages.WithLabelValues(kind, foreignLabel)
	}
	return m
}

// foreignLabel and foundLabel are values of the label "workflow" of the messages metric.
const foreignLabel = "foreign"

var foundLabel = map[bool]string{true: "running", false: "none"}

// TemporalIsShort notes whether the embedded Temporal says that it is short of something.
func (m *Metrics) TemporalIsShort(short bool) {
	if short {
		m.temporalShort.Set(1)
	} else {
		m.temporalShort.Set(0)
	}
}

func (m *Metrics) sent(kind, workflow string) { m.messages.WithLabelValues(kind, workflow).Inc() }

// namespaceLabel is not "namespace", the label by which Prometheus says where the process is that it scrapes.
const namespaceLabel = "object_namespace"

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ostinato_bridge_"+name, help, append([]string{namespaceLabel}, labels...), nil)
}

var (
	cronJobsDesc  = newDesc("cronjobs", "CronJobs by the outcome of their last scheduled time, as their status says.", "last_outcome")
	failing       = newDesc("failing_cronjobs", "CronJobs whose last run to end has failed.")
	failuresOf    = newDesc("consecutive_failures", "Runs in a row that have failed of a CronJob, of the ten that have failed most of a namespace.", "cronjob")
	queuedRuns    = newDesc("queued_runs", "Runs that wait in the queues of CronJobs.")
	longestQueued = newDesc("longest_queued_run_seconds", "How overdue the oldest queued run is.")
	activeJobs    = newDesc("active_jobs", "Jobs under way, without the suspended.")
	stuckJobs     = newDesc("stuck_jobs", "Jobs under way whose containers can't start for a reason that Kubernetes names.")
	longJobs      = newDesc("long_jobs", "Jobs under way for longer than expected: by the CronJob, else for more than a day.")
	longestActive = newDesc("longest_active_job_seconds", "Age of the oldest Job under way.")
)

// gauges are the metrics that have one value for each namespace.
var gauges = []*prometheus.Desc{failing, queuedRuns, longestQueued, activeJobs, stuckJobs, longJobs, longestActive}

// namespaceCount is what a census finds in one namespace.
type namespaceCount struct {
	// cronJobs are the CronJobs by the outcome of their last scheduled time.
	cronJobs map[string]int
	// failures are the runs in a row that have failed, by the name of the CronJob. One of batch/v1 may have the name, too.
	failures map[string]int32
	// values are those of the gauges.
	values map[*prometheus.Desc]float64
}

// atLeast raises a gauge to a value.
func (n *namespaceCount) atLeast(gauge *prometheus.Desc, value float64) {
	n.values[gauge] = max(n.values[gauge], value)
}

func (n *namespaceCount) addCronJob(cronJob *ostinatov1.CronJob, now time.Time) {
	n.cronJobs[lastOutcome(cronJob)]++
	if failures := cronJob.Status.ConsecutiveFailures; failures > 0 {
		n.values[failing]++
		n.failures[cronJob.Name] = max(n.failures[cronJob.Name], failures)
	}
	n.values[queuedRuns] += float64(max(cronJob.Status.Queued, 0))
	for _, row := range cronJob.Status.RecentRuns {
		if row.Outcome == string(ledger.Queued) {
			n.atLeast(longestQueued, now.Sub(row.ScheduledTime.Time).Seconds())
		}
	}
}

// maxFailing bounds the CronJobs of a namespace that metrics name.
const maxFailing = 10

// failingMost are the names of the CronJobs that have failed most.
func (n *namespaceCount) failingMost() []string {
	names := slices.SortedFunc(maps.Keys(n.failures), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.failures[b], n.failures[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), maxFailing)]
}

// lastOutcome returns the outcome of the CronJob's last scheduled time as a label's value: one of few, whatever status says.
func lastOutcome(cronJob *ostinatov1.CronJob) string {
	switch outcome := cronJob.Status.LastOutcome; {
	case outcome == "":
		// It has not had a scheduled time yet.
		return "None"
	case slices.Contains(ledger.Outcomes, ledger.Outcome(outcome)):
		return outcome
	}
	return "Unknown"
}

// addJob counts a Job of which is known what a judgement says.
func (n *namespaceCount) addJob(job *batchv1.Job, known judgement, now time.Time) {
	if finished(job) || job.DeletionTimestamp != nil || ptr.Deref(job.Spec.Suspend, false) {
		return
	}
	begun := ptr.Deref(job.Status.StartTime, job.CreationTimestamp)
	n.values[activeJobs]++
	n.atLeast(longestActive, now.Sub(begun.Time).Seconds())
	if known.stuck {
		n.values[stuckJobs]++
	}
	if now.Sub(begun.Time) > cmp.Or(known.expected, schedule.ExpectedAtMost) {
		n.values[longJobs]++
	}
}

// census is what the leader counts in the caches, by namespace. Only a leader has one.
type census struct {
	latest atomic.Pointer[map[string]*namespaceCount]
}

// Describe implements prometheus.Collector.
func (c *census) Describe(descs chan<- *prometheus.Desc) {
	descs <- cronJobsDesc
	descs <- failuresOf
	for _, gauge := range gauges {
		descs <- gauge
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
		for _, name := range n.failingMost() {
			metrics <- prometheus.MustNewConstMetric(failuresOf, prometheus.GaugeValue, float64(n.failures[name]), namespace, name)
		}
		for _, gauge := range gauges {
			metrics <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, n.values[gauge], namespace)
		}
	}
}

// judgement is what is known of a Job beside the object: that none of its containers can start, and how long it is expected to take, 0
// where nothing says it.
type judgement struct {
	stuck    bool
	expected time.Duration
}

// count counts what the caches hold.
func (c *census) count(objects *objects, judge func(*batchv1.Job) judgement, now time.Time) {
	counted := map[string]*namespaceCount{}
	of := func(namespace string) *namespaceCount {
		n := counted[namespace]
		if n == nil {
			n = &namespaceCount{cronJobs: map[string]int{}, failures: map[string]int32{}, values: map[*prometheus.Desc]float64{}}
			counted[namespace] = n
		}
		return n
	}
	objects.eachCronJob(func(cronJob *ostinatov1.CronJob) { of(cronJob.Namespace).addCronJob(cronJob, now) })
	objects.eachJob(func(job *batchv1.Job) { of(job.Namespace).addJob(job, judge(job), now) })
	c.latest.Store(&counted)
}
