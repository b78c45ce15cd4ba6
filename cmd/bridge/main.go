// Command bridge brings Kubernetes objects to their Temporal workflows.
package main

import (
	"context"
	"errors"
	"os"

	"ostinato.dev/ostinato/internal/bridge"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/process"
	"ostinato.dev/ostinato/internal/starts"
)

func main() { command.Main(config.BridgeCommand(os.LookupEnv, run)) }

func run(ctx context.Context, settings config.Bridge) (err error) {
	p, err := process.Start(ctx, "bridge", settings.Common)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	recorder, stopEvents := k8s.StartEvents(context.WithoutCancel(ctx), p.Kubernetes.Kubernetes, bridge.Component)
	defer stopEvents()
	metrics := bridge.NewMetrics(p.Registry)
	b, err := bridge.New(bridge.Options{
		Config:            settings,
		Clients:           p.Kubernetes,
		Temporal:          bridge.NewTemporal(p.Temporal, p.TemporalNamespace, settings.Cluster, settings.Weights, p.Logger),
		TemporalNamespace: p.TemporalNamespace,
		SearchAttributes:  starts.HaveSearchAttributes(ctx, p.Temporal, p.TemporalNamespace, p.Logger),
		Recorder:          recorder,
		Metrics:           metrics,
		Logger:            p.Logger,
	})
	if err != nil {
		return err
	}
	go newLosses(p, metrics, settings.LeaderElection).watch(ctx)
	p.Health.Add("caches", b.Ready)
	p.Started()
	err = b.Run(ctx)
	p.Logger.Info("stopped")
	return err
}
