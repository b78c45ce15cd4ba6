package main

import (
	"context"
	"log/slog"

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
