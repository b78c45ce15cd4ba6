package main

import (
	"context"
	"log/slog"
	"time"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/temporalserver/postgres"
	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
	"ostinato.dev/ostinato/internal/temporalserver/store"
)

// databases are those that the settings name.
func databases(settings config.TemporalServer, logger *slog.Logger) store.Open {
	if settings.DatabaseURL != "" {
		return func(ctx context.Context) (store.Databases, error) {
			return postgres.Open(ctx, postgres.Options{URL: settings.DatabaseURL, Logger: logger})
		}
	}
	if settings.DataDir == config.InMemory {
		return sqlite.InMemory
	}
	return func(ctx context.Context) (store.Databases, error) {
		return sqlite.Open(ctx, sqlite.Options{Dir: settings.DataDir, Synchronous: sqlite.Synchronous(settings.Synchronous), Logger: logger})
	}
}

// spaceEvery is how often the volume is looked at.
const spaceEvery = time.Minute

// watchSpace warns when the volume of the databases gets nearly full, and says when there is room again, until ctx ends.
func watchSpace(ctx context.Context, dir string, logger *slog.Logger) {
	var little bool
	for {
		space, err := sqlite.SpaceOf(dir)
		if err != nil {
			logger.Warn("the space on the volume is not known", "error", err)
		} else if space.Little() != little {
			little = !little
			tellSpace(logger, dir, space, little)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(spaceEvery):
		}
	}
}

func tellSpace(logger *slog.Logger, dir string, space sqlite.Space, little bool) {
	const mebi = 1 << 20
	logger = logger.With("dataDir", dir, "freeMiB", space.Free/mebi, "ofMiB", space.Total/mebi)
	if little {
		logger.Warn("the volume is nearly full: when it is, no workflow goes on. Make it larger, remove backups and databases that were set aside, or shorten --retention")
	} else {
		logger.Info("the volume has room again")
	}
}
