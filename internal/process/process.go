// Package process sets up what worker and bridge have in common before they
// differ: logs, metrics, health, and the clients of Temporal and Kubernetes.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/util/wait"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/telemetry"
)

const (
	checkEvery = 5 * time.Second  // how often probes may make the process ask the other side
	lastRetry  = 10 * time.Second // the longest wait between two tries to reach Temporal at start
)

// Process is a running worker or bridge.
type Process struct {
	Logger   *slog.Logger
	Registry *prometheus.Registry
	// Health is served from the beginning; checks may be added at any time.
	Health *telemetry.Health
	// Temporal is connected. TemporalNamespace is its namespace.
	Temporal          client.Client
	TemporalNamespace string
	// SDKMetrics is what the Temporal SDK reports to.
	SDKMetrics client.MetricsHandler
	Kubernetes *k8s.Clients

	closers []func() error
}

// Start sets up a process; program is its name in logs and requests. It waits for Temporal as long as it takes or the
// context allows, alive but not ready. Close ends what it started.
func Start(ctx context.Context, program string, settings config.Common) (*Process, error) {
	p := &Process{
		Logger:   telemetry.NewLogger(os.Stderr, program, settings.LogLevel, settings.LogFormat == config.LogJSON),
		Registry: telemetry.NewRegistry(),
		Health:   &telemetry.Health{},
	}
	if err := p.start(ctx, program, settings); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Process) start(ctx context.Context, program string, settings config.Common) error {
	p.Health.Add("start", func(context.Context) error { return errors.New("starting") })
	telemetry.RegisterKubernetesClient(p.Registry)
	restConfig, err := settings.Kubernetes.RESTConfig("ostinato-" + program)
	if err != nil {
		return err
	}
	if p.Kubernetes, err = k8s.NewClients(restConfig); err != nil {
		return err
	}
	if err := p.serve(settings.Observability); err != nil {
		return err
	}
	p.Health.Add("kubernetes", telemetry.Cached(func(ctx context.Context) error {
		return p.Kubernetes.Kubernetes.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}, checkEvery))

	options, err := settings.Temporal.ClientOptions()
	if err != nil {
		return err
	}
	options.Logger = telemetry.SDKLogger(p.Logger)
	if err := settings.Payloads.Apply(&options, p.Logger); err != nil {
		return err
	}
	handler, closer := telemetry.SDKMetrics(p.Registry, p.Logger, telemetry.Labels{
		"workflow_type": protocol.Workflows, "activity_type": protocol.Activities,
	})
	p.SDKMetrics, options.MetricsHandler = handler, handler
	p.closers = append(p.closers, closer.Close)
	p.TemporalNamespace = options.Namespace
	if p.Temporal, err = dial(ctx, options, p.Logger); err != nil {
		return err
	}
	p.closers = append(p.closers, func() error { p.Temporal.Close(); return nil })
	p.Health.Add("temporal", telemetry.Cached(func(ctx context.Context) error {
		_, err := p.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}, checkEvery))
	return nil
}

// serve serves metrics and health.
func (p *Process) serve(settings config.Observability) error {
	options := telemetry.ServerOptions{
		MetricsAddress: settings.MetricsAddress,
		HealthAddress:  settings.HealthAddress,
		Profiling:      settings.Profiling,
		Registry:       p.Registry,
		Health:         p.Health,
		Logger:         p.Logger,
	}
	if settings.MetricsTLS() {
		var err error
		if options.MetricsTLS, err = telemetry.ServerTLS(settings.MetricsCertificateFile, settings.MetricsKeyFile); err != nil {
			return fmt.Errorf("serve metrics by TLS: %w", err)
		}
	}
	if settings.MetricsAuthentication {
		options.MetricsAccess = telemetry.NewAccess(p.Kubernetes.Kubernetes, p.Logger)
	}
	server, err := telemetry.Serve(options)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, server.Close)
	return nil
}

// Started ends the state of starting: from now on the other checks alone say whether the process is ready.
func (p *Process) Started() { p.Health.Add("start", func(context.Context) error { return nil }) }

// Close closes what Start opened, last first.
func (p *Process) Close() (err error) {
	for _, closer := range slices.Backward(p.closers) {
		err = errors.Join(err, closer())
	}
	return err
}

// dial connects to Temporal, and tries again until it is there.
func dial(ctx context.Context, options client.Options, logger *slog.Logger) (client.Client, error) {
	backoff := wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: lastRetry, Steps: 1 << 30, Jitter: 0.1}
	var connection client.Client
	err := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		var err error
		if connection, err = client.DialContext(ctx, options); err == nil {
			return true, nil
		}
		logger.Warn("waiting for Temporal", "address", options.HostPort, "error", err)
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", options.HostPort, err)
	}
	return connection, nil
}
