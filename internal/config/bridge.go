package config

import (
	"context"
	"errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/internal/command"
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
	// SearchAttributes is one of the SearchAttributes constants.
	SearchAttributes string
	// ProbeNamespace is where the bridge creates a Job for a moment, when it is to take
	// Jobs over, to see whether the built-in controller runs. It holds nothing else.
	ProbeNamespace string
	LeaderElection LeaderElection
}

// BridgeCommand returns the command that runs a bridge with the settings that its
// flags and the environment give.
func BridgeCommand(lookup LookupEnv, run func(context.Context, Bridge) error) *cobra.Command {
	var b Bridge
	return command.New(&cobra.Command{
		Use:  "bridge",
		Long: "bridge brings Kubernetes objects to their Temporal workflows." + connections,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), b) },
	}, command.Settings{AddFlags: b.AddFlags, Validate: b.validate, Environment: environment(lookup)})
}

// AddFlags declares the bridge's flags.
func (b *Bridge) AddFlags(flags *command.Flags) {
	b.Common.addFlags(flags)
	temporal := flags.Group(groupTemporal)
	command.Choice(temporal, &b.SearchAttributes, "search-attributes", SearchAttributesAuto,
		[]string{SearchAttributesAuto, SearchAttributesOn, SearchAttributesOff}, "set search attributes on workflows")
	kubernetes := flags.Group(groupKubernetes)
	kubernetes.StringVar(&b.ProbeNamespace, "takeover-probe-namespace", "ostinato-probe", "namespace of the CronJob and Job by which --takeover sees whether the built-in controllers run")
	work := flags.Group(groupWork)
	work.IntVar(&b.Workers, "workers", 16, "objects handled at a time")
	work.Float64Var(&b.SweepRate, "sweep-rate", 200, "calls to Temporal a second by the sweep that makes sure every object has its workflow; the rounds over running Jobs and the reminders to workflows make a tenth of it each")
	work.DurationVar(&b.SweepInterval, "sweep-interval", 30*time.Minute, "how often the sweep is repeated; 0 only at leader start")
	work.DurationVar(&b.OverdueGrace, "overdue-grace", 15*time.Second, "how late a CronJob may be before its workflow is poked")
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
	p.check(!b.TakeOver.Any() || len(validation.IsDNS1123Label(b.ProbeNamespace)) == 0, "takeover-probe-namespace",
		"%q is no namespace name; name one that holds nothing else: --takeover creates a CronJob or Job there for a moment, to see whether the built-in controller runs", b.ProbeNamespace)
	return errors.Join(p...)
}
