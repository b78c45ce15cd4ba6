package host

import (
	"context"
	"fmt"
	"os"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	// The server reaches PostgreSQL by this plugin.
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/temporal"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
)

// Options say which process of a cluster this is.
type Options struct {
	Cluster spec.Cluster
	Role    spec.Role
	// IP is the host's address.
	IP string
	// LogLevel is the least level of the lines on standard error.
	LogLevel string
}

// Run is the process: it returns when the role's work is done, or when ctx ends.
func Run(ctx context.Context, o Options) error {
	switch o.Role {
	case spec.Setup:
		return setUp(ctx, o.Cluster)
	case spec.UI:
		return serveUI(ctx, o)
	default:
		return serve(ctx, o)
	}
}

func logger(level string) log.Logger {
	return log.NewZapLogger(log.BuildZapLogger(log.Config{Level: level, Format: "console"}))
}

// serve runs the server in one role until ctx ends.
func serve(ctx context.Context, o Options) error {
	service, known := services[o.Role]
	if !known {
		return fmt.Errorf("role %q is none of %v", o.Role, spec.Roles)
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(serverConfig(o.Cluster, o.IP)),
		temporal.ForServices([]string{string(service)}),
		temporal.WithLogger(logger(o.LogLevel)),
		temporal.WithAuthorizer(authorizer{namespace: o.Cluster.Namespace}),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claimMapper{} }),
		temporal.WithDynamicConfigClient(dynamicConfig(o.Cluster.DynamicConfig)),
	)
	if err != nil {
		return fmt.Errorf("configure Temporal in the role %s: %w", o.Role, err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start Temporal in the role %s: %w", o.Role, err)
	}
	<-ctx.Done()
	if err := server.Stop(); err != nil {
		return fmt.Errorf("stop Temporal in the role %s: %w", o.Role, err)
	}
	return nil
}

// serveUI serves the Web UI until ctx ends.
func serveUI(ctx context.Context, o Options) error {
	certificates := o.Cluster.Certificates
	server := uiserver.NewServer(server_options.WithConfigProvider(&uiconfig.Config{
		TemporalGRPCAddress: o.Cluster.Address(spec.Frontend, 0),
		Host:                o.IP,
		Port:                o.Cluster.UIPort,
		EnableUI:            true,
		DefaultNamespace:    o.Cluster.Namespace,
		DisableNewsFetch:    true,
		DisableWriteActions: true,
		HideLogs:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true},
		TLS: uiconfig.TLS{
			CaFile:   certificates.Certificate(spec.ClientAuthority),
			CertFile: certificates.Certificate(spec.Viewer),
			KeyFile:  certificates.Key(spec.Viewer),
		},
	}))
	failed := make(chan error, 1)
	go func() { failed <- server.Start() }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the Web UI: %w", err)
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "stopping")
		server.Stop()
		return nil
	}
}
