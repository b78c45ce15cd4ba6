package config

import (
	"fmt"
	"regexp"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/names"
)

// Temporal holds the settings of what a process has in Temporal.
type Temporal struct {
	// Cluster prefixes every workflow ID and task queue, for a Temporal namespace
	// that serves several clusters. Worker and bridge of one cluster must agree.
	Cluster names.Cluster
}

func (t *Temporal) addFlags(flags *command.Flags) {
	group := flags.Group(groupTemporal)
	group.StringVar((*string)(&t.Cluster), "cluster", "", "name of this Kubernetes cluster, for a Temporal namespace that serves several; the same for worker and bridge")
}

// clusterName keeps workflow IDs and task queue names readable and unambiguous.
var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

func (t Temporal) validate(p *problems) {
	p.check(t.Cluster == "" || clusterName.MatchString(string(t.Cluster)), "cluster",
		"%q; use at most 63 lower case letters, digits, dots and hyphens", t.Cluster)
	for _, reserved := range []string{"cronjob", "job", "podwatch", "ostinato"} {
		p.check(string(t.Cluster) != reserved, "cluster", "%q is used in workflow IDs; choose another name", t.Cluster)
	}
}

// ClientOptions returns the options of a Temporal client as the SDK's own environment
// configuration gives them: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
// TEMPORAL_API_KEY, TEMPORAL_TLS_*, TEMPORAL_PROFILE and the profile file. The
// namespace is filled in when nothing names one. Requests are not compressed:
// ours are a few hundred bytes, and gzip took 7 % of the worker's processor time.
func (t Temporal) ClientOptions() (client.Options, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return client.Options{}, fmt.Errorf("read the Temporal settings (TEMPORAL_* variables and profile file): %w", err)
	}
	if options.HostPort == "" {
		options.HostPort = client.DefaultHostPort
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	return options, nil
}
