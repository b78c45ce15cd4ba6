package podwatch

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of the label "result" of signals.
const (
	resultSent     = "sent"
	resultNotFound = "not_found"
	resultError    = "error"
)

// Metrics are the Prometheus metrics of the watch. The name, labels and meaning of what
// Kubernetes' own job controller has too are its (parity 2.16).
type Metrics struct {
	terminatedTracked *prometheus.CounterVec
	signals           *prometheus.CounterVec
	facts             prometheus.Counter
	projections       prometheus.Counter
	orphans           prometheus.Counter
	jobs              prometheus.Gauge
	heartbeat         *prometheus.GaugeVec
	shards            prometheus.Gauge
	signalSeconds     prometheus.Histogram
}

// NewMetrics returns metrics registered with the registerer; it panics when they are registered already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Subsystem: "ostinato", Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts(opts(name, help)))
	}
	m := &Metrics{
		terminatedTracked: factory.NewCounterVec(prometheus.CounterOpts{
			Subsystem: "job_controller", Name: "terminated_pods_tracking_finalizer_total",
			Help: "The number of terminated pods (phase=Failed|Succeeded) that have the finalizer batch.kubernetes.io/job-tracking",
		}, []string{"event"}),
		signals: factory.NewCounterVec(prometheus.CounterOpts(opts("podwatch_signals_total",
			"The number of signals with Pod facts by result: sent, not_found, error")), []string{"result"}),
		facts:       counter("podwatch_facts_total", "The number of Pod facts sent"),
		projections: counter("podwatch_ready_projections_total", "The number of writes of status.ready alone"),
		orphans:     counter("podwatch_orphans_released_total", "The number of Pods without a workflow that were released"),
		jobs:        factory.NewGauge(prometheus.GaugeOpts(opts("podwatch_jobs", "The number of Jobs that have Pods in the watch"))),
		heartbeat: factory.NewGaugeVec(prometheus.GaugeOpts(opts("podwatch_heartbeat_timestamp_seconds",
			"When this process last reported that it watches a shard, in seconds since the epoch")), []string{"shard"}),
		shards: factory.NewGauge(prometheus.GaugeOpts(opts("podwatch_shards",
			"The number of shards that have to be watched (--watch-shards)"))),
		signalSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Subsystem: "ostinato", Name: "podwatch_signal_duration_seconds", Help: "The time Temporal took to take a signal",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	// An alert sees no error in a series that begins with it.
	for _, result := range []string{resultSent, resultNotFound, resultError} {
		m.signals.WithLabelValues(result)
	}
	return m
}

// Heartbeat notes that this process watches a shard.
func (m *Metrics) Heartbeat(shard int, now time.Time) {
	m.heartbeat.WithLabelValues(strconv.Itoa(shard)).Set(float64(now.Unix()))
}

// Shards notes how many shards have to be watched.
func (m *Metrics) Shards(count int) { m.shards.Set(float64(count)) }
