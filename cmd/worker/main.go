// Command worker hosts Ostinato's workflows and activities.
package main

import (
	"context"
	"errors"
	"os"
	_ "time/tzdata" // time zones of schedules, wherever the image has none

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/process"
	"ostinato.dev/ostinato/internal/starts"
)

func main() { command.Main(config.WorkerCommand(os.LookupEnv, run)) }

func run(ctx context.Context, settings config.Worker) (err error) {
	p, err := process.Start(ctx, "worker", settings.Common)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	events, stopEvents := activities.StartEvents(context.WithoutCancel(ctx), p.Kubernetes.Kubernetes, p.Registry)
	defer stopEvents()
	countFromZero(p.SDKMetrics, p.TemporalNamespace, settings.Cluster)
	fatal := make(chan error, 1)
	workers := newWorkers(settings, p.Temporal, activities.New(activities.Options{
		Kubernetes:       p.Kubernetes.Kubernetes,
		CronJobs:         p.Kubernetes.CronJobs,
		Namespaces:       settings.Namespaces,
		Temporal:         p.Temporal,
		SearchAttributes: starts.HaveSearchAttributes(ctx, p.Temporal, p.TemporalNamespace, p.Logger),
		Heartbeats:       p.Temporal,
		Namespace:        p.TemporalNamespace,
		Cluster:          settings.Cluster,
		Events:           events,
		Metrics:          activities.NewMetrics(p.Registry),
		BulkQPS:          float32(settings.BulkPodsPerSecond),
		TakeOverJobs:     settings.TakeOver.Jobs,
		TakeOverCronJobs: settings.TakeOver.CronJobs,
		JobDefaults:      settings.JobDefaults,
		WatchShards:      settings.WatchShards,
		StartLead:        settings.StartLead,
		MaxHeld:          settings.MaxHeld(),
		AcceptSignals:    settings.AcceptSignals,
		StampedUsers:     settings.StampedUsers,
		CallerHeader:     settings.CallerHeader,
		Weights:          settings.Weights,
		Logs:             activities.LogLimits{Lines: settings.EvidenceLogLines, Bytes: settings.EvidenceLogBytes},
	}), fatal)
	if err := workers.start(); err != nil {
		return err
	}
	defer workers.stop()
	if err := startPodWatches(ctx, p.Temporal, settings, p.Logger); err != nil {
		return err
	}
	go keepCacheBounded(ctx, uint64(settings.StickyCacheMemory.Value()), p.Registry, p.Logger)
	go keepPodWatches(ctx, p.Temporal, settings, p.Logger)
	p.Started()
	p.Logger.Info("working", "taskQueues", workers.queues)

	select {
	case <-ctx.Done():
		p.Logger.Info("draining", "timeout", settings.DrainTimeout)
		return nil
	case err := <-fatal:
		return err
	}
}
