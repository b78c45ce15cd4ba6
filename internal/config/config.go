package config

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"ostinato.dev/ostinato/internal/command"
)

// Titles of the groups of flags.
const (
	groupServer         = "Server"
	groupAccess         = "Access"
	groupData           = "Data"
	groupTemporal       = "Temporal"
	groupEncryption     = "Encryption"
	groupKubernetes     = "Kubernetes"
	groupJobs           = "Jobs"
	groupWork           = "Work"
	groupLeaderElection = "Leader election"
	groupObservability  = "Observability"
)

// LookupEnv returns an environment variable's value and whether it is set; os.LookupEnv is one.
type LookupEnv = func(name string) (string, bool)

func environment(lookup LookupEnv) command.Environment {
	return command.Environment{Prefix: "OSTINATO_", Lookup: lookup}
}

func program[S any, P interface {
	*S
	AddFlags(*command.Flags)
	validate() error
}](name, help string, lookup LookupEnv, run func(context.Context, S) error) *cobra.Command {
	settings := P(new(S))
	return command.New(&cobra.Command{
		Use: name, Long: name + " " + help, Version: command.Version(),
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), *settings) },
	}, command.Settings{AddFlags: settings.AddFlags, Validate: settings.validate, Environment: environment(lookup)})
}

// connections ends the help of both programs.
const connections = `

Each flag has an environment variable, which it wins over. The connections have none of ours:
  Temporal    TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE
  Kubernetes  KUBECONFIG, or the Pod's service account`

// Common holds the settings that worker and bridge share.
type Common struct {
	Temporal
	Payloads
	Kubernetes
	Jobs
	Observability
	// DrainTimeout is how long work in progress may take after SIGTERM.
	DrainTimeout time.Duration
}

// addFlags declares the flags that both programs have. Each adds its own
// --drain-timeout, whose default is not the same.
func (c *Common) addFlags(flags *command.Flags) {
	c.Temporal.addFlags(flags)
	c.Payloads.addFlags(flags)
	c.Kubernetes.addFlags(flags)
	c.Jobs.addFlags(flags)
	flags.Group(groupLeaderElection)
	c.Observability.addFlags(flags)
}

func (c Common) validate(p *problems) {
	c.Temporal.validate(p)
	c.Payloads.validate(p)
	c.Kubernetes.validate(p)
	c.Jobs.validate(p)
	c.Observability.validate(p)
	p.check(c.DrainTimeout >= 0, "drain-timeout", "is %v; set it to 0 or more", c.DrainTimeout)
}

type nameList []string

func (n *nameList) String() string { return strings.Join(*n, ",") }

func (n *nameList) Type() string { return "names" }

func (n *nameList) Set(value string) error {
	*n = nil
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*n = append(*n, name)
		}
	}
	return nil
}

type problems []error

func (p *problems) check(ok bool, flagName, format string, arguments ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf("--%s (%s): %s", flagName, environment(nil).Variable(flagName), fmt.Sprintf(format, arguments...)))
	}
}

func (p *problems) atLeast(value, least int, flagName string) {
	p.check(value >= least, flagName, "is %d; set it to %d or more", value, least)
}

func (p *problems) positive(value float64, flagName string) {
	p.check(value > 0, flagName, "is %v; set it above 0", value)
}

func (p *problems) wholeSeconds(value time.Duration, flagName string) {
	p.check(value >= time.Second && value%time.Second == 0, flagName, "is %v; set it to whole seconds, 1s or more", value)
}

func (p *problems) address(value, flagName string) {
	_, _, err := net.SplitHostPort(value)
	p.check(value == "" || err == nil, flagName, "%q is not host:port; use 127.0.0.1:8080 or :8080, say", value)
}

func (p *problems) namespace(value, flagName, want string) {
	p.check(len(validation.IsDNS1123Label(value)) == 0, flagName, "%q is no namespace name; %s", value, want)
}
