package bridge

import (
	"github.com/prometheus/client_golang/prometheus"
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
	pokes          prometheus.Counter
	messages       *prometheus.CounterVec
	errors         *prometheus.CounterVec
	// attendSeconds tells how long a Job may be without a workflow.
	attendSeconds prometheus.Histogram
	// toHandBack is above 0 only after take-over was given up.
	toHandBack prometheus.Gauge
	// paused are workflows that somebody has paused in Temporal or pinned to a build.
	paused *prometheus.GaugeVec
	// external, ttlDeletion and builtInWrites count only where Jobs are taken over,
	// builtInCronJobWrites only where CronJobs are.
	external             *prometheus.CounterVec
	controllers          telemetry.LabelValues
	ttlDeletion          prometheus.Histogram
	builtInWrites        prometheus.Counter
	builtInCronJobWrites prometheus.Counter
}

// NewMetrics registers the bridge's metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		queues: telemetry.QueueMetrics(registry),
		census: newCensus(),
		leading: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ostinato_bridge_leading", Help: "1 while this process leads.",
		}),
		cronJobsServed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ostinato_bridge_cronjobs_served", Help: "1 while CronJobs are served; 0 where the API server does not have their CRD.",
		}),
		overdue: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ostinato_bridge_overdue_cronjobs", Help: "CronJobs whose next run's time has passed, by more than the grace, without a run.",
		}),
		nextTimeWrong: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ostinato_bridge_wrong_next_times", Help: "CronJobs whose status.nextScheduleTime is missing, or later than their schedule says.",
		}),
		pokes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ostinato_bridge_overdue_pokes_total", Help: "Times the workflow of an overdue CronJob was poked.",
		}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ostinato_bridge_messages_total", Help: "Starts and signals that Temporal took, by kind and whether a workflow was running.",
		}, []string{"kind", "workflow"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ostinato_bridge_temporal_errors_total", Help: "Starts and signals that failed and are repeated, by kind of error.",
		}, []string{"class"}),
		attendSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ostinato_bridge_attend_round_duration_seconds",
			Help:    "Time of a round that looks whether every Job under way has its workflow.",
			Buckets: prometheus.ExponentialBuckets(0.1, 4, 8),
		}),
		toHandBack: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ostinato_bridge_jobs_to_hand_back", Help: "Jobs that are another controller's and whose workflow still runs, since they are not drained.",
		}),
		paused: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ostinato_bridge_paused_workflows", Help: "Workflows of CronJobs, and of Jobs under way, that somebody has paused in Temporal or pinned to a build of the worker.",
		}, []string{"kind"}),
		// These two have upstream's names, labels and buckets (parity 2.15, 2.16).
		external: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "job_controller_jobs_by_external_controller_total", Help: "Jobs added that another controller than this one manages.",
		}, []string{"controller_name"}),
		ttlDeletion: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ttl_after_finished_controller_job_deletion_duration_seconds",
			Help:    "Time from the end of a Job's TTL to its deletion.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
		}),
		builtInWrites: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ostinato_bridge_builtin_job_status_writes_total",
			Help: "Times kube-controller-manager was seen to write the status of a Job taken over: its job controller runs too.",
		}),
		builtInCronJobWrites: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ostinato_bridge_builtin_cronjob_status_writes_total",
			Help: "Times kube-controller-manager was seen to write the status of a CronJob taken over: its cronjob controller runs too.",
		}),
	}
	// An alert sees no increase in a series that begins with it.
	for _, kind := range []string{"cronjob-start", "job-start"} {
		m.messages.WithLabelValues(kind, foreignLabel)
	}
	registry.MustRegister(m.leading, m.cronJobsServed, m.overdue, m.nextTimeWrong, m.census, m.pokes, m.messages, m.errors, m.attendSeconds, m.toHandBack, m.paused, m.external, m.ttlDeletion, m.builtInWrites, m.builtInCronJobWrites)
	return m
}

// addedFor counts a Job of another controller. Whoever creates Jobs names it.
func (m *Metrics) addedFor(controller string) {
	m.external.WithLabelValues(m.controllers.Of("controller_name", controller)).Inc()
}

// sent counts a message.
func (m *Metrics) sent(kind, workflow string) {
	m.messages.WithLabelValues(kind, workflow).Inc()
}
