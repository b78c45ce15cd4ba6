package bridge

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/client-go/util/workqueue"

	"ostinato.dev/ostinato/internal/telemetry"
)

// Metrics are the bridge's own metrics.
type Metrics struct {
	queues  workqueue.MetricsProvider
	leading prometheus.Gauge
	// cronJobsServed stays 0 on a cluster without the CRD.
	cronJobsServed prometheus.Gauge
	overdue        prometheus.Gauge
	nextTimeWrong  prometheus.Gauge
	census         *census
	nudges         prometheus.Counter
	messages       *prometheus.CounterVec
	errors         *prometheus.CounterVec
	// ensureSeconds tells how long a Job may be without a workflow.
	ensureSeconds prometheus.Histogram
	// toHandBack is above 0 only after take-over was given up.
	toHandBack prometheus.Gauge
	// paused are workflows that somebody has paused in Temporal or pinned to a build.
	paused *prometheus.GaugeVec
	// external, ttlDeletion and builtInWrites count only where Jobs are taken over,
	// builtInCronJobWrites only where CronJobs are.
	external *prometheus.CounterVec
	// controllers keeps the values of external's label few: whoever creates Jobs names them.
	controllers          telemetry.LabelValues
	ttlDeletion          prometheus.Histogram
	builtInWrites        prometheus.Counter
	builtInCronJobWrites prometheus.Counter
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
			Help: "Workflows of CronJobs, and of Jobs under way, that somebody has paused in Temporal or pinned to a build of the worker.",
		}, []string{"kind"}),
		// These two have upstream's names, labels and buckets (parity 2.15, 2.16).
		external: counters("job_controller_jobs_by_external_controller_total", "Jobs added that another controller than this one manages.", "controller_name"),
		ttlDeletion: register.NewHistogram(prometheus.HistogramOpts{
			Name:    "ttl_after_finished_controller_job_deletion_duration_seconds",
			Help:    "Time from the end of a Job's TTL to its deletion.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
		}),
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

func (m *Metrics) sent(kind, workflow string) {
	m.messages.WithLabelValues(kind, workflow).Inc()
}
