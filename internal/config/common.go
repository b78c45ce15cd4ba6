package config

import (
	"log/slog"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// Common holds the settings that worker and bridge share.
type Common struct {
	// Cluster prefixes every workflow ID and task queue, for a Temporal namespace
	// that serves several clusters. Worker and bridge of one cluster must agree.
	Cluster names.Cluster
	// TakeOver says which unmarked objects are Ostinato's. Worker and bridge of one
	// cluster must agree.
	TakeOver TakeOver
	// JobDefaults are what a Job gets that does not say it itself, in whole seconds.
	// Worker and bridge of one cluster must agree: either may read a Job first.
	JobDefaults job.Defaults
	// KubeQPS and KubeBurst bound this process's requests to the API server; a
	// KubeQPS of 0 leaves that to the server's Priority and Fairness.
	KubeQPS   float64
	KubeBurst int
	// MetricsAddress and HealthAddress are host:port; an empty one is not served.
	MetricsAddress string
	HealthAddress  string
	// Profiling serves net/http/pprof at MetricsAddress, which must be loopback.
	Profiling bool
	// SDKMetrics records the Temporal SDK's own metrics.
	SDKMetrics bool
	LogLevel   slog.Level
	// LogFormat is LogText or LogJSON.
	LogFormat string
	// DrainTimeout is how long work in progress may take after SIGTERM.
	DrainTimeout time.Duration
}

// Log formats.
const (
	LogText = "text"
	LogJSON = "json"
)

func (c *Common) register(set *flagSet) {
	set.StringVar((*string)(&c.Cluster), "cluster", "", "name of this Kubernetes cluster, for a Temporal namespace that serves several; the same for worker and bridge")
	set.Var(&c.TakeOver, "takeover", "jobs: reconcile Jobs without managedBy too, where kube-controller-manager runs without its job-controller (docs/takeover.md); the same for worker and bridge")
	registerJobDefaults(set, &c.JobDefaults)
	set.Float64Var(&c.KubeQPS, "kube-qps", 0, "requests a second to the API server; 0 leaves the limit to its Priority and Fairness")
	set.IntVar(&c.KubeBurst, "kube-burst", 100, "requests to the API server at once above --kube-qps, where that is set")
	set.StringVar(&c.MetricsAddress, "metrics-address", ":8080", "host:port of /metrics; empty serves none")
	set.StringVar(&c.HealthAddress, "health-address", ":8081", "host:port of /healthz and /readyz; empty serves none")
	set.BoolVar(&c.Profiling, "profiling", false, "serve net/http/pprof at --metrics-address, which must be a loopback address")
	set.BoolVar(&c.SDKMetrics, "sdk-metrics", true, "record the Temporal SDK's metrics")
	set.TextVar(&c.LogLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	set.StringVar(&c.LogFormat, "log-format", LogText, "text or json")
}
