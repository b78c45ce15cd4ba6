package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/uber-go/tally/v4"
	tallyprometheus "github.com/uber-go/tally/v4/prometheus"
	"go.temporal.io/sdk/client"
	sdktally "go.temporal.io/sdk/contrib/tally"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"ostinato.dev/ostinato/internal/command"
)

// NewRegistry returns a registry with the metrics of the Go runtime, the process and the build.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	RegisterBuild(registry)
	return registry
}

// RegisterBuild puts what this program was built from into labels, as Prometheus' own programs do.
func RegisterBuild(registry prometheus.Registerer) {
	build := command.ThisBuild()
	promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "ostinato", Name: "build_info",
		Help: "1, labelled by the version and the commit that the program was built from, and by the version of Go",
	}, []string{"version", "revision", "goversion"}).WithLabelValues(build.Version, build.Revision, build.Go).Set(1)
}

// durationBuckets span a local API call (milliseconds) to a workflow's wait, in
// seconds. Few, since the SDK has some thirty timers with several labels.
var durationBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600}

// SDKMetrics returns a handler that puts the Temporal SDK's metrics into the registry, under the names all SDKs share
// (temporal_request_total and so on), with values of labels that are bounded in number. The closer flushes; close it
// after the last worker and client.
func SDKMetrics(registry *prometheus.Registry, logger *slog.Logger, labels Labels) (client.MetricsHandler, io.Closer) {
	reporter := tallyprometheus.NewReporter(tallyprometheus.Options{
		Registerer:              registry,
		Gatherer:                registry,
		DefaultTimerType:        tallyprometheus.HistogramTimerType,
		DefaultHistogramBuckets: durationBuckets,
		// A metric that one part of the SDK reports with other labels than another is lost, the process is not.
		OnRegisterError: func(err error) { logger.Debug("metric not registered", "error", fmt.Sprint(err)) },
	})
	scope, closer := tally.NewRootScope(tally.ScopeOptions{
		CachedReporter:         reporter,
		Separator:              "_",
		SanitizeOptions:        &sdktally.PrometheusSanitizeOptions,
		OmitCardinalityMetrics: true,
	}, 5*time.Second)
	handler := sdktally.NewMetricsHandler(sdktally.NewPrometheusNamingScope(scope))
	return boundedLabels{handler, &LabelValues{closed: labels}}, closer
}

const (
	otherValue = "other" // stands for the values of a label that make no series of their own
	noneValue  = "none"  // what the SDK says where a label does not apply
	// maxValues bounds the values of a label that no closed set is known of. The SDK gives
	// such labels to what the process itself has chosen: its queues and operations.
	maxValues = 100
)

// Labels are the values that labels of the SDK's metrics may have, by label. The SDK labels a task with the type that
// it names, before it looks whether there is one, and a metric keeps each series for as long as the process lives: a
// type that is not listed here counts as "other".
type Labels map[string][]string

// LabelValues keeps the values of a metric's labels few. The zero value lets each label have
// 100, those that were asked for first; others count as "other".
type LabelValues struct {
	closed Labels
	mutex  sync.Mutex
	seen   map[string]sets.Set[string]
}

// Of returns the value that the label gets for one that was asked for.
func (v *LabelValues) Of(label, value string) string {
	if known, closed := v.closed[label]; closed {
		if value == noneValue || slices.Contains(known, value) {
			return value
		}
		return otherValue
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.seen == nil {
		v.seen = map[string]sets.Set[string]{}
	}
	seen := v.seen[label]
	if len(seen) >= maxValues && !seen.Has(value) {
		return otherValue
	}
	if seen == nil {
		seen = sets.Set[string]{}
		v.seen[label] = seen
	}
	seen.Insert(value)
	return value
}

// boundedLabels is a MetricsHandler whose labels have values out of bounded sets.
type boundedLabels struct {
	client.MetricsHandler
	values *LabelValues
}

// WithTags implements client.MetricsHandler.
func (h boundedLabels) WithTags(tags map[string]string) client.MetricsHandler {
	bounded := make(map[string]string, len(tags))
	for label, value := range tags {
		bounded[label] = h.values.Of(label, value)
	}
	return boundedLabels{h.MetricsHandler.WithTags(bounded), h.values}
}

// RegisterKubernetesClient counts this process's requests to the API server as rest_client_requests_total, by code,
// method and host, as upstream's components do. Only the first call of a process has an effect.
func RegisterKubernetesClient(registry prometheus.Registerer) {
	metrics.Register(metrics.RegisterOpts{RequestResult: requestCounter{promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total",
		Help: "Number of HTTP requests to the API server, by status code, method and host.",
	}, []string{"code", "method", "host"})}})
}

// StickyCachePurges counts how often a worker's workflows have left memory.
func StickyCachePurges(registry prometheus.Registerer) prometheus.Counter {
	return promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Namespace: "ostinato", Name: "sticky_cache_purges_total",
		Help: "How often all workflows left memory since the process held more than --sticky-cache-memory",
	})
}

type requestCounter struct{ requests *prometheus.CounterVec }

func (c requestCounter) Increment(_ context.Context, code, method, host string) {
	c.requests.WithLabelValues(code, method, host).Inc()
}

// QueueMetrics returns a provider of client-go work queue metrics under the
// names that upstream's components use (workqueue_depth and so on).
func QueueMetrics(registry prometheus.Registerer) workqueue.MetricsProvider {
	factory, label := promauto.With(registry), []string{"name"}
	buckets := prometheus.ExponentialBuckets(1e-6, 10, 9)
	return &queueMetrics{
		depth:      factory.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "Current depth of workqueue."}, label),
		adds:       factory.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_adds_total", Help: "Total number of adds handled by workqueue."}, label),
		latency:    factory.NewHistogramVec(prometheus.HistogramOpts{Name: "workqueue_queue_duration_seconds", Help: "How long in seconds an item stays in workqueue before being requested.", Buckets: buckets}, label),
		work:       factory.NewHistogramVec(prometheus.HistogramOpts{Name: "workqueue_work_duration_seconds", Help: "How long in seconds processing an item from workqueue takes.", Buckets: buckets}, label),
		unfinished: factory.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_unfinished_work_seconds", Help: "How many seconds of work is in progress and has not been observed by work_duration."}, label),
		longest:    factory.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_longest_running_processor_seconds", Help: "How many seconds the longest running processor has been running."}, label),
		retries:    factory.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_retries_total", Help: "Total number of retries handled by workqueue."}, label),
	}
}

type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

func (m *queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return m.depth.WithLabelValues(name)
}
func (m *queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return m.adds.WithLabelValues(name)
}
func (m *queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return m.latency.WithLabelValues(name)
}
func (m *queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return m.work.WithLabelValues(name)
}
func (m *queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.unfinished.WithLabelValues(name)
}
func (m *queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.longest.WithLabelValues(name)
}
func (m *queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return m.retries.WithLabelValues(name)
}
