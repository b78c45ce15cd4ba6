package config

import (
	"strings"
	"time"

	"ostinato.dev/ostinato/internal/command"
)

// Titles of the groups of flags.
const (
	groupTemporal       = "Temporal"
	groupEncryption     = "Encryption"
	groupKubernetes     = "Kubernetes"
	groupJobs           = "Jobs"
	groupWork           = "Work"
	groupLeaderElection = "Leader election"
	groupObservability  = "Observability"
)

// LookupEnv returns an environment variable's value and whether it is set;
// os.LookupEnv is one.
type LookupEnv = func(name string) (string, bool)

// environment gives the flags their twins.
func environment(lookup LookupEnv) command.Environment {
	return command.Environment{Prefix: "OSTINATO_", Lookup: lookup}
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
	Fairness
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
	c.Fairness.addFlags(flags)
	flags.Group(groupLeaderElection)
	c.Observability.addFlags(flags)
}

func (c Common) validate(p *problems) {
	c.Temporal.validate(p)
	c.Payloads.validate(p)
	c.Kubernetes.validate(p)
	c.Jobs.validate(p)
	c.Fairness.validate(p)
	c.Observability.validate(p)
	p.check(c.DrainTimeout >= 0, "drain-timeout", "is %v; set it to 0 or more", c.DrainTimeout)
}

// nameList is a comma-separated list of names as a flag.
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
