package host

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema"
	postgresqlschema "go.temporal.io/server/schema/postgresql/v12"

	"ostinato.dev/ostinato/internal/devstack/temporal"
	"ostinato.dev/ostinato/internal/devstack/temporalcluster/spec"
)

// tables are what one database is to hold.
type tables struct {
	database, schema, version string
}

// setUp makes what is missing of databases, tables and the namespace. It is done before any host starts, so that each
// finds everything at its first look, and none races another for it.
func setUp(ctx context.Context, c spec.Cluster) error {
	for _, t := range []tables{
		{c.Database.Executions, "postgresql/v12/temporal/schema.sql", postgresqlschema.Version},
		{c.Database.Visibility, "postgresql/v12/visibility/schema.sql", postgresqlschema.VisibilityVersion},
	} {
		if err := t.ensure(c.Database); err != nil {
			return fmt.Errorf("database %s: %w", t.database, err)
		}
	}
	attributes, err := searchAttributes(c.SearchAttributes)
	if err != nil {
		return err
	}
	return temporal.EnsureNamespace(ctx, sqlConfig(c.Database, c.Database.Executions, executionConnections), temporal.Options{
		Namespace: c.Namespace, Retention: c.Retention, SearchAttributes: attributes,
	})
}

// ensure creates the database with the server's tables in it, unless it is there in the version that the server wants. The
// version is written last: a database without one was left by a process that was killed on the way, and is dropped.
func (t tables) ensure(d spec.Database) error {
	// Databases are made over a connection to the database that is always there.
	server, err := administration(sqlConfig(d, "postgres", 1))
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	if err := server.CreateDatabase(t.database); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	present, err := t.present(d)
	switch {
	case err != nil:
		return err
	case present == t.version:
		return nil
	case present != "":
		return fmt.Errorf("its tables are of version %s, and the server wants %s: update them with Temporal's own tool, or remove the folder of the stack", present, t.version)
	}
	if err := server.DropDatabase(t.database); err != nil {
		return fmt.Errorf("drop what is unfinished: %w", err)
	}
	if err := server.CreateDatabase(t.database); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return t.create(d)
}

// present returns the version of the tables that there are, "" without one.
func (t tables) present(d spec.Database) (string, error) {
	db, err := administration(sqlConfig(d, t.database, 1))
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	names, err := db.ListTables(t.database)
	if err != nil {
		return "", fmt.Errorf("list tables: %w", err)
	}
	if !slices.Contains(names, "schema_version") {
		return "", nil
	}
	version, err := db.ReadSchemaVersion(t.database)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return version, err
}

// create makes the tables.
func (t tables) create(d spec.Database) error {
	db, err := administration(sqlConfig(d, t.database, 1))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	text, err := fs.ReadFile(schema.Assets(), t.schema)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	statements, err := persistence.LoadAndSplitQueryFromReaders([]io.Reader{bytes.NewReader(text)})
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	for _, statement := range statements {
		if err := db.Exec(statement); err != nil {
			return fmt.Errorf("create tables: %w", err)
		}
	}
	if err := db.CreateSchemaVersionTables(); err != nil {
		return fmt.Errorf("create tables: %w", err)
	}
	if err := db.UpdateSchemaVersion(t.database, t.version, t.version); err != nil {
		return fmt.Errorf("write the version of the tables: %w", err)
	}
	return nil
}

func administration(c *config.SQL) (sqlplugin.AdminDB, error) {
	db, err := persistencesql.NewSQLAdminDB(sqlplugin.DbKindUnknown, c, resolver.NewNoopResolver(), logger("error"), metrics.NoopMetricsHandler)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL at %s: %w", c.ConnectAddr, err)
	}
	return db, nil
}
