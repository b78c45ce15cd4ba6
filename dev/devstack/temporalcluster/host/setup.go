package host

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"

	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/internal/temporalserver"
	"ostinato.dev/ostinato/internal/temporalserver/postgres"
)

// setUp makes what is missing of databases, tables and the namespace. It is done before any host starts, so that each
// finds everything at its first look, and none races another for it.
func setUp(ctx context.Context, c spec.Cluster) (err error) {
	database := url.URL{
		Scheme: "postgres", User: url.UserPassword(c.Database.User, c.Database.Password), Host: c.Database.Address, Path: "/" + c.Database.Executions,
		RawQuery: "sslmode=disable",
	}
	databases, err := postgres.Open(ctx, postgres.Options{URL: database.String(), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, databases.Close()) }()
	attributes, err := searchAttributes(c.SearchAttributes)
	if err != nil {
		return err
	}
	return temporalserver.EnsureNamespace(ctx, databases, temporalserver.Options{
		Namespace: c.Namespace, Retention: c.Retention, SearchAttributes: attributes,
	})
}
