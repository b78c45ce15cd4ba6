package config

import (
	"io"
	"time"
)

// Search attribute modes of the bridge.
const (
	// SearchAttributesAuto asks Temporal at start whether the attributes exist.
	SearchAttributesAuto = "auto"
	// SearchAttributesOn takes them as existing, for a Temporal whose operator
	// service may not be asked.
	SearchAttributesOn = "on"
	// SearchAttributesOff never sets them.
	SearchAttributesOff = "off"
)

// Bridge holds the settings of cmd/bridge.
type Bridge struct {
	Common
	// Namespaces are the Kubernetes namespaces whose CronJobs and Jobs to serve;
	// empty means all.
	Namespaces []string
	// Workers is how many objects are handled at a time.
	Workers int
	// SweepRate bounds, per second, the calls of the sweep that makes sure every
	// object has its workflow. Rounds over the Jobs under way take a tenth of it.
	SweepRate float64
	// SweepInterval is how often, after the first time at leader start, the sweep
	// is repeated; 0 means never.
	SweepInterval time.Duration
	// OverdueGrace is how long after a CronJob's next schedule time the watchdog
	// waits before it pokes the workflow.
	OverdueGrace time.Duration
	// WatchShards is the number of PodWatch workflows; the workers' own.
	WatchShards int
	// SearchAttributes is one of the SearchAttributes constants.
	SearchAttributes string
	LeaderElection   LeaderElection
}

// LeaderElection holds the settings of the lease by which one bridge leads.
type LeaderElection struct {
	Enabled bool
	// Namespace and Name are those of the Lease. The namespace is the bridge's own.
	Namespace string
	Name      string
	// LeaseDuration, RenewDeadline and RetryPeriod are client-go's.
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// ParseBridge reads the settings of cmd/bridge from its arguments (without the
// program's name) and the environment. Help goes to output, with flag.ErrHelp as
// the error. Every other error says which setting to change, and how.
func ParseBridge(arguments []string, lookup LookupEnv, output io.Writer) (Bridge, error) {
	var b Bridge
	set := newFlagSet("bridge", "brings Kubernetes objects to their Temporal workflows", output)
	b.register(set)
	set.DurationVar(&b.DrainTimeout, "drain-timeout", 10*time.Second, "how long calls in progress may take after SIGTERM")
	set.Var((*nameList)(&b.Namespaces), "namespaces", "comma-separated Kubernetes namespaces to serve; empty means all")
	set.IntVar(&b.Workers, "workers", 16, "objects handled at a time")
	set.Float64Var(&b.SweepRate, "sweep-rate", 200, "calls to Temporal a second by the sweep that makes sure every object has its workflow; the rounds over running Jobs make a tenth of it")
	set.DurationVar(&b.SweepInterval, "sweep-interval", 30*time.Minute, "how often the sweep is repeated; 0 only at leader start")
	set.DurationVar(&b.OverdueGrace, "overdue-grace", 15*time.Second, "how late a CronJob may be before its workflow is poked")
	set.IntVar(&b.WatchShards, "watch-shards", 1, "PodWatch workflows that share the Pods, 1 to 16; the same as for the workers. Those of another number are ended")
	set.StringVar(&b.SearchAttributes, "search-attributes", SearchAttributesAuto, "auto, on or off: set search attributes on workflows")
	set.BoolVar(&b.LeaderElection.Enabled, "leader-elect", true, "lead only while holding the lease")
	set.StringVar(&b.LeaderElection.Namespace, "lease-namespace", "ostinato-system", "namespace of the lease")
	set.StringVar(&b.LeaderElection.Name, "lease-name", "ostinato-bridge", "name of the lease")
	set.DurationVar(&b.LeaderElection.LeaseDuration, "lease-duration", 15*time.Second, "how long a follower waits before it takes an unrenewed lease")
	set.DurationVar(&b.LeaderElection.RenewDeadline, "lease-renew-deadline", 10*time.Second, "how long the leader tries to renew before it gives up")
	set.DurationVar(&b.LeaderElection.RetryPeriod, "lease-retry-period", 2*time.Second, "time between tries to take or renew the lease")
	if err := set.parse(arguments, lookup); err != nil {
		return Bridge{}, err
	}
	return b, b.validate()
}
