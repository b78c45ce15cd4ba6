package config

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
)

// Bridge holds the settings of cmd/bridge. Each field but the groups is the flag of that name, which says what it means.
type Bridge struct {
	Common
	Workers        int
	SweepInterval  time.Duration
	OverdueGrace   time.Duration
	LeaderElection LeaderElection
}

// BridgeCommand returns the command that runs a bridge with the settings that its flags and the environment give.
func BridgeCommand(lookup LookupEnv, run func(context.Context, Bridge) error) *cobra.Command {
	return program("bridge", "brings Kubernetes objects to their Temporal workflows."+connections, lookup, run)
}

// AddFlags declares the bridge's flags.
func (b *Bridge) AddFlags(flags *command.Flags) {
	b.Common.addFlags(flags)
	work := flags.Group(groupWork)
	work.IntVar(&b.Workers, "workers", 16, "objects handled at a time")
	work.DurationVar(&b.SweepInterval, "sweep-interval", 30*time.Minute, "time between sweeps; 0 sweeps only when a leader starts")
	work.DurationVar(&b.OverdueGrace, "overdue-grace", 15*time.Second, "how late a CronJob may be before its workflow is nudged")
	work.DurationVar(&b.DrainTimeout, "drain-timeout", 10*time.Second, "how long calls in progress may take after SIGTERM")
	b.LeaderElection.addFlags(flags)
}

func (b *Bridge) validate() error {
	var p problems
	b.Common.validate(&p)
	p.atLeast(b.Workers, 1, "workers")
	p.check(b.SweepInterval == 0 || b.SweepInterval >= time.Minute, "sweep-interval", "is %v; set it to 0 or to 1m or more", b.SweepInterval)
	p.check(b.OverdueGrace >= time.Second, "overdue-grace", "is %v; set it to 1s or more", b.OverdueGrace)
	b.LeaderElection.validate(&p)
	return errors.Join(p...)
}

// LeaderElection holds the settings of the lease by which one bridge leads.
type LeaderElection struct {
	Enabled bool
	// Namespace is the bridge's own.
	Namespace string
	// LeaseDuration is how long a follower waits before it takes a lease that is not renewed.
	LeaseDuration time.Duration
}

func (l *LeaderElection) addFlags(flags *command.Flags) {
	group := flags.Group(groupLeaderElection)
	group.BoolVar(&l.Enabled, "leader-elect", true, "lead only while holding the lease")
	group.StringVar(&l.Namespace, "lease-namespace", "ostinato-system", "namespace of the lease")
	group.DurationVar(&l.LeaseDuration, "lease-duration", 15*time.Second, "how long a follower waits before it takes a lease that is not renewed")
}

func (l LeaderElection) validate(p *problems) {
	if !l.Enabled {
		return
	}
	p.check(l.Namespace != "", "lease-namespace", "is empty; name the bridge's own namespace")
	p.check(l.LeaseDuration >= time.Second, "lease-duration", "is %v; set it to 1s or more", l.LeaseDuration)
}
