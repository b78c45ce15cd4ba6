// Command temporal-authorizer is a Temporal server with temporalaccess, to run in the place of temporal-server: it reads the same
// configuration. Only its frontends ask the Kubernetes API server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	// The databases that temporal-server knows.
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/mysql"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/rpc/encryption"
	"go.temporal.io/server/temporal"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/deploy/temporal-authorizer/temporalaccess"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "temporal-authorizer:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, arguments []string) error {
	o := temporalaccess.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flags := flag.NewFlagSet("temporal-authorizer", flag.ContinueOnError)
	file := flags.String("config-file", os.Getenv(config.EnvKeyConfigFile), "`file` with the server's configuration; without one, environment variables say it")
	services := flags.String("services", os.Getenv("TEMPORAL_SERVICES"), "`services` to start, with commas; all by default")
	flags.StringVar(&o.Namespace, "namespace", "default", "Temporal `namespace` that worker, bridge and people use")
	flags.StringVar(&o.Cluster, "cluster", "", "`name` that is the worker's and the bridge's --cluster")
	flags.StringVar(&o.Administrators, "administrators", "", "`group` of the API server's whose members may do everything")
	flags.StringVar(&o.Worker, "worker", "ostinato-worker", "common `name` of the worker's certificate")
	flags.StringVar(&o.Bridge, "bridge", "ostinato-bridge", "common `name` of the bridge's certificate")
	flags.StringVar(&o.Server, "server", "", "common `name` of the certificate of the server's own services, if there is no internal-frontend")
	err := flags.Parse(arguments)
	if err != nil {
		return err
	}
	source := config.WithEmbedded()
	if *file != "" {
		source = config.WithConfigFile(*file)
	}
	loaded, err := config.Load(source)
	if err != nil {
		return fmt.Errorf("load the configuration: %w", err)
	}
	started := temporal.DefaultServices
	if *services != "" {
		started = strings.Split(*services, ",")
	}
	logger := log.NewZapLogger(log.BuildZapLogger(loaded.Log))
	options := []temporal.ServerOption{temporal.WithConfig(loaded), temporal.ForServices(started), temporal.WithLogger(logger)}
	if slices.Contains(started, string(primitives.FrontendService)) {
		guard, err := guarded(ctx, o, logger, loaded.Global)
		if err != nil {
			return err
		}
		options = append(options, guard...)
	}
	server, err := temporal.NewServer(options...)
	if err != nil {
		return fmt.Errorf("configure the server: %w", err)
	}
	err = server.Start()
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	<-ctx.Done()
	return server.Stop()
}

// apiServer is how the Kubernetes API server is reached, and this program's namespace there, in a Pod the Pod's own. What is asked about
// callers is bounded for each of them; client-go's own bound, five questions a second, would be used up by a stranger's tokens.
func apiServer() (*rest.Config, string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil)
	cluster, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes API server: %w", err)
	}
	cluster.UserAgent, cluster.QPS = "temporal-authorizer", -1
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find this program's Kubernetes namespace: %w", err)
	}
	return cluster, namespace, nil
}

// guarded are the options of a frontend. The authorizer of the configuration, if there is one, decides about the other namespaces.
func guarded(ctx context.Context, o temporalaccess.Options, logger log.Logger, configured config.Global) ([]temporal.ServerOption, error) {
	cluster, namespace, err := apiServer()
	if err != nil {
		return nil, err
	}
	o.KubernetesNamespace = namespace
	o.Kubernetes, err = kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("make a Kubernetes client: %w", err)
	}
	authorizer, err := authorization.GetAuthorizerFromConfig(&configured.Authorization)
	if err != nil {
		return nil, fmt.Errorf("make the authorizer of the configuration: %w", err)
	}
	if !authorization.IsNoopAuthorizer(authorizer) {
		o.Others = authorizer
	}
	o.OthersClaims, err = authorization.GetClaimMapperFromConfig(&configured.Authorization, logger)
	if err != nil {
		return nil, fmt.Errorf("make the claim mapper of the configuration: %w", err)
	}
	audience, err := authorization.GetAudienceMapperFromConfig(&configured.Authorization)
	if err != nil {
		return nil, fmt.Errorf("make the audience mapper of the configuration: %w", err)
	}
	tls, err := encryption.NewTLSConfigProviderFromConfig(configured.TLS, metrics.NoopMetricsHandler, logger, nil)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the configuration: %w", err)
	}
	guard, err := temporalaccess.New(ctx, o)
	if err != nil {
		return nil, err
	}
	return []temporal.ServerOption{
		temporal.WithTLSConfigFactory(temporalaccess.WithPeople(tls)),
		temporal.WithAuthorizer(guard.Authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return guard.ClaimMapper }),
		temporal.WithAudienceGetter(func(*config.Config) authorization.JWTAudienceMapper { return audience }),
		temporal.WithChainedFrontendGrpcInterceptors(guard.StampCaller),
	}, nil
}
