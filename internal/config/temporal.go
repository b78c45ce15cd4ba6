package config

import (
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// Temporal returns the options of a Temporal client as the SDK's own environment
// configuration gives them: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
// TEMPORAL_API_KEY, TEMPORAL_TLS_*, TEMPORAL_PROFILE and the profile file. The
// namespace is filled in when nothing names one. Requests are not compressed:
// ours are a few hundred bytes, and gzip took 7 % of the worker's processor time.
func Temporal() (client.Options, error) {
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
