package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/uber-go/tally/v4"
	tallyprometheus "github.com/uber-go/tally/v4/prometheus"
	"go.temporal.io/sdk/client"
	sdktally "go.temporal.io/sdk/contrib/tally"
)

// NewRegistry returns a registry with the metrics of the Go runtime and the process.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return registry
}

// durationBuckets span a local API call (milliseconds) to a workflow's wait, in
// seconds. Few, since the SDK has some thirty timers with several labels.
var durationBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600}

// SDKMetrics returns a handler that puts the Temporal SDK's metrics into the
// registry, under the names all SDKs share (temporal_request_total and so on), with
// values of labels that are bounded in number. The closer flushes; close it after the
// last worker and client.
func SDKMetrics(registry *prometheus.Registry, logger *slog.Logger, labels Labels) (client.MetricsHandler, io.Closer) {
	reporter := tallyprometheus.NewReporter(tallyprometheus.Options{
		Registerer:              registry,
		Gatherer:                registry,
		DefaultTimerType:        tallyprometheus.HistogramTimerType,
		DefaultHistogramBuckets: durationBuckets,
		// A metric that one part of the SDK reports with other labels than another
		// is lost, the process is not.
		OnRegisterError: func(err error) { logger.Debug("metric not registered", "error", fmt.Sprint(err)) },
	})
	scope, closer := tally.NewRootScope(tally.ScopeOptions{
		CachedReporter:         reporter,
		Separator:              "_",
		SanitizeOptions:        &sdktally.PrometheusSanitizeOptions,
		OmitCardinalityMetrics: true,
	}, 5*time.Second)
	return boundLabels(sdktally.NewMetricsHandler(sdktally.NewPrometheusNamingScope(scope)), labels), closer
}
