package config

import (
	"time"

	"ostinato.dev/ostinato/internal/command"
)

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

func (l *LeaderElection) addFlags(flags *command.Flags) {
	group := flags.Group(groupLeaderElection)
	group.BoolVar(&l.Enabled, "leader-elect", true, "lead only while holding the lease")
	group.StringVar(&l.Namespace, "lease-namespace", "ostinato-system", "namespace of the lease")
	group.StringVar(&l.Name, "lease-name", "ostinato-bridge", "name of the lease")
	group.DurationVar(&l.LeaseDuration, "lease-duration", 15*time.Second, "how long a follower waits before it takes an unrenewed lease")
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
