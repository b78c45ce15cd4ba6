// Command temporal is a Temporal server with its Web UI in one process, for a cluster that has no Temporal.
//
// It can be killed at any time: started again on the same data it goes on with the same namespace and workflows. It writes to its
// data directory and nowhere else.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"go.temporal.io/server/common/headers"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/telemetry"
	"ostinato.dev/ostinato/internal/temporalserver"
	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
)

func main() { command.Main(config.TemporalServerCommand(os.LookupEnv, run)) }

// run runs the server until ctx ends, or copies its data.
func run(ctx context.Context, settings config.TemporalServer) (err error) {
	logger := telemetry.NewLogger(os.Stderr, "temporal", settings.LogLevel, settings.LogFormat == config.LogJSON)
	if settings.BackupTo != "" {
		err := sqlite.Backup(ctx, settings.DataDir, settings.BackupTo)
		if err == nil {
			logger.Info("backed up", "dataDir", settings.DataDir, "to", settings.BackupTo)
		}
		return err
	}
	tuneMemory(os.LookupEnv)
	starting := &readiness{}
	health := &telemetry.Health{}
	health.Add("temporal", starting.check)
	probes, err := telemetry.Serve(telemetry.ServerOptions{
		HealthAddress: settings.HealthAddress, Registry: telemetry.NewRegistry(), Health: health, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, probes.Close()) }()
	logger.Info("starting", "version", command.Version(), "temporalServer", headers.ServerVersion)
	door, err := openDoor(ctx, settings, logger)
	if err != nil {
		return err
	}
	chosen := options(settings, logger)
	chosen.Door = door
	server, err := temporalserver.Start(ctx, chosen)
	if err != nil {
		return err
	}
	starting.started(server)
	logger.Info("ready", "frontend", server.FrontendAddress(), "ui", server.UIAddress())
	if lost := server.Lost(); lost != "" {
		logger.Warn("data of an earlier version is not in use", "lost", lost)
	}
	dataDir := settings.DataDir
	if settings.DatabaseURL != "" || dataDir == config.InMemory {
		dataDir = ""
	}
	go newShortage(dataDir, server.TellShort, logger).watch(ctx)
	<-ctx.Done()
	return server.Stop()
}

// The server makes much garbage on a small heap. Collecting it less often takes a tenth off its processor time; beyond
// the limit it is collected as often as needed to stay near it.
const (
	gcPercent   = 400
	memoryLimit = 1 << 30
)

// tuneMemory sets the garbage collector, unless Go's own environment variables do.
func tuneMemory(lookup func(string) (string, bool)) {
	if _, set := lookup("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := lookup("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// options are those of the server that the settings ask for.
func options(settings config.TemporalServer, logger *slog.Logger) temporalserver.Options {
	return temporalserver.Options{
		Open:           databases(settings, logger),
		Address:        settings.Address,
		UIAddress:      settings.UIAddress,
		MetricsAddress: settings.MetricsAddress,
		PProfPort:      settings.PProfPort,
		InnerPorts: temporalserver.InnerPorts{
			History: settings.InnerPorts[0], Matching: settings.InnerPorts[1], Internal: settings.InnerPorts[2], Frontend: settings.InnerPorts[3],
		},
		Namespace:     settings.Namespace,
		Retention:     settings.Retention,
		HistoryShards: settings.HistoryShards,
		LogLevel:      serverLevel(settings.LogLevel),
		LogJSON:       settings.LogFormat == config.LogJSON,
	}
}

// serverLevel is the least level of the server's own lines. At a level it writes far more than our programs do, so it gets the next.
func serverLevel(level slog.Level) string {
	switch {
	case level <= slog.LevelDebug:
		return "info"
	case level <= slog.LevelInfo:
		return "warn"
	default:
		return "error"
	}
}
