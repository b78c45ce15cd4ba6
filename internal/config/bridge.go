package config

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

// Search attribute modes of the bridge.
const (
	// SearchAttributesAuto asks Temporal at start whether the attributes exist.
	SearchAttributesAuto = "auto"
	// SearchAttributesOn takes them as existing, for a Temporal whose operator service may not be asked.
	SearchAttributesOn = "on"
	// SearchAttributesOff never sets them.
	SearchAttributesOff = "off"
)

// Bridge holds the settings of cmd/bridge. Each field but the groups is the flag of that name, which says what it means.
type Bridge struct {
	Common
	Workers       int
	SweepRate     float64
	SweepInterval time.Duration
	OverdueGrace  time.Duration
	// SearchAttributes is one of the SearchAttributes constants.
	SearchAttributes string
	// ProbeNamespace is --takeover-probe-namespace.
	ProbeNamespace string
	LeaderElection LeaderElection
}

// BridgeCommand returns the command that runs a bridge with the settings that its flags and the environment give.
func BridgeCommand(lookup LookupEnv, run func(context.Context, Bridge) error) *cobra.Command {
	return program("bridge", "brings Kubernetes objects to their Temporal workflows."+connections, lookup, run)
}

// AddFlags declares the bridge's flags.
func (b *Bridge) AddFlags(flags *command.Flags) {
	b.Common.addFlags(flags)
	temporal := flags.Group(groupTemporal)
	command.Choice(temporal, &b.SearchAttributes, "search-attributes", SearchAttributesAuto,
		[]string{SearchAttributesAuto, SearchAttributesOn, SearchAttributesOff}, "set search attributes on workflows")
	kubernetes := flags.Group(groupKubernetes)
	kubernetes.StringVar(&b.ProbeNamespace, "takeover-probe-namespace", "ostinato-probe", "namespace of the CronJob and Job with which --takeover detects the built-in controllers")
	work := flags.Group(groupWork)
	work.IntVar(&b.Workers, "workers", 16, "objects handled at a time")
	work.Float64Var(&b.SweepRate, "sweep-rate", 200, "calls to Temporal a second by the sweep that ensures a workflow for every object; the rounds over unfinished objects and the reminders take a tenth of it each")
	work.DurationVar(&b.SweepInterval, "sweep-interval", 30*time.Minute, "time between sweeps; 0 sweeps only when a leader starts")
	work.DurationVar(&b.OverdueGrace, "overdue-grace", 15*time.Second, "how late a CronJob may be before its workflow is nudged")
	work.DurationVar(&b.DrainTimeout, "drain-timeout", 10*time.Second, "how long calls in progress may take after SIGTERM")
	b.LeaderElection.addFlags(flags)
}

func (b *Bridge) validate() error {
	var p problems
	b.Common.validate(&p)
	p.atLeast(b.Workers, 1, "workers")
	p.positive(b.SweepRate, "sweep-rate")
	p.check(b.SweepInterval == 0 || b.SweepInterval >= time.Minute, "sweep-interval", "is %v; set it to 0 or to 1m or more", b.SweepInterval)
	p.check(b.OverdueGrace >= time.Second, "overdue-grace", "is %v; set it to 1s or more", b.OverdueGrace)
	b.LeaderElection.validate(&p)
	if b.TakeOver != (TakeOver{}) {
		p.namespace(b.ProbeNamespace, "takeover-probe-namespace",
			"name one that holds nothing else: --takeover creates a CronJob or Job there for a moment, to see whether the built-in controller runs")
	}
	return errors.Join(p...)
}

// LeaderElection holds the settings of the lease by which one bridge leads, named as client-go does.
type LeaderElection struct {
	Enabled bool
	// Namespace and Name are those of the Lease. The namespace is the bridge's own.
	Namespace, Name                           string
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

func (l *LeaderElection) addFlags(flags *command.Flags) {
	group := flags.Group(groupLeaderElection)
	group.BoolVar(&l.Enabled, "leader-elect", true, "lead only while holding the lease")
	group.StringVar(&l.Namespace, "lease-namespace", "ostinato-system", "namespace of the lease")
	group.StringVar(&l.Name, "lease-name", "ostinato-bridge", "name of the lease")
	group.DurationVar(&l.LeaseDuration, "lease-duration", 15*time.Second, "how long a follower waits before it takes a lease that is not renewed")
	group.DurationVar(&l.RenewDeadline, "lease-renew-deadline", 10*time.Second, "how long the leader tries to renew before it gives up")
	group.DurationVar(&l.RetryPeriod, "lease-retry-period", 2*time.Second, "time between tries to take or renew the lease")
}

func (l LeaderElection) validate(p *problems) {
	if !l.Enabled {
		return
	}
	p.check(l.Namespace != "", "lease-namespace", "is empty; name the bridge's own namespace")
	p.check(l.Name != "", "lease-name", "is empty; name the lease")
	p.check(l.RetryPeriod > 0, "lease-retry-period", "is %v; set it above 0, such as 2s", l.RetryPeriod)
	p.check(l.LeaseDuration >= time.Second, "lease-duration", "is %v; set it to 1s or more", l.LeaseDuration)
	p.check(l.LeaseDuration > l.RenewDeadline, "lease-duration",
		"is %v; set it above --lease-renew-deadline, %v", l.LeaseDuration, l.RenewDeadline)
	// client-go asks for this distance, for jitter.
	p.check(float64(l.RenewDeadline) > 1.2*float64(l.RetryPeriod), "lease-renew-deadline",
		"is %v; set it above 1.2 times --lease-retry-period, %v", l.RenewDeadline, l.RetryPeriod)
}
