package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/server/common/headers"

	"ostinato.dev/ostinato/internal/temporalserver/store"
)

const (
	// driverName is the driver that the server's plugin brings.
	driverName = "pgx"
	// maintenance is the database that every server has.
	maintenance = "postgres"

	// SQLSTATEs.
	noSuchDatabase = "3D000"
	notAllowed     = "42501"
)

// Options say where the databases are. Both are required.
type Options struct {
	// URL is postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=FILE, say. The database for visibility
	// has its name and _visibility.
	URL string
	// Logger is told each step that tables take.
	Logger *slog.Logger
}

// Open makes databases and tables where they are missing, and leads tables of an earlier version to that of this server. An error
// says what to do if that would skip a version.
func Open(ctx context.Context, o Options) (store.Databases, error) {
	executions, err := parse(o.URL)
	if err != nil {
		return store.Databases{}, fmt.Errorf("URL of the database: %w", err)
	}
	server, err := parseVersion(headers.ServerVersion)
	if err != nil {
		return store.Databases{}, fmt.Errorf("version of the Temporal server: %w", err)
	}
	main, err := connect(ctx, executions)
	if err != nil {
		return store.Databases{}, err
	}
	defer func() { _ = main.Close() }()
	lists, err := connect(ctx, executions.visibility())
	if err != nil {
		return store.Databases{}, err
	}
	defer func() { _ = lists.Close() }()
	used, err := readServer(ctx, main)
	if err != nil {
		return store.Databases{}, fmt.Errorf("database %s: %w", executions.database(), err)
	}
	first, err := prepare(ctx, main, executions.database(), executionsSteps, state{server: used}, server)
	if err != nil {
		return store.Databases{}, err
	}
	second, err := prepare(ctx, lists, executions.visibility().database(), visibilitySteps, state{server: used}, server)
	if err != nil {
		return store.Databases{}, err
	}
	// What has no version yet is this server's from here on, also if a process is killed between two steps.
	err = writeServer(ctx, main, headers.ServerVersion)
	if err != nil {
		return store.Databases{}, fmt.Errorf("database %s: note the version of the server: %w", executions.database(), err)
	}
	err = errors.Join(first.run(ctx, o.Logger), second.run(ctx, o.Logger))
	if err != nil {
		return store.Databases{}, err
	}
	return store.Databases{
		Executions: executions.config(executionConnections), Visibility: executions.visibility().config(visibilityConnections),
		Close: func() error { return nil },
	}, nil
}

// migration is what the tables of a database have before them.
type migration struct {
	db       *sql.DB
	database string
	from     string
	steps    []step
}

// prepare plans the way of the tables in a database, whose steps are in a folder.
func prepare(ctx context.Context, db *sql.DB, database, folder string, found state, server version) (migration, error) {
	steps, err := readSteps(folder)
	if err != nil {
		return migration{}, err
	}
	found.tables, err = readTables(ctx, db)
	if err != nil {
		return migration{}, fmt.Errorf("database %s: read the version of the tables: %w", database, err)
	}
	planned, err := plan(found, server, versions(steps))
	if err != nil {
		return migration{}, fmt.Errorf("database %s: %w", database, err)
	}
	return migration{db, database, found.tables, steps[len(steps)-len(planned):]}, nil
}

// run takes the steps, each at once or not at all.
func (m migration) run(ctx context.Context, logger *slog.Logger) error {
	from := m.from
	for _, one := range m.steps {
		err := apply(ctx, m.db, from, one)
		if err != nil {
			return fmt.Errorf("database %s: %w", m.database, err)
		}
		logger.Info("tables led to a version", "database", m.database, "from", from, "version", one.version, "change", one.manifest.Description)
		from = one.version.String()
	}
	return nil
}

// connect opens a database, and makes it where it is missing.
func connect(ctx context.Context, a address) (*sql.DB, error) {
	db, err := ping(ctx, a)
	if sqlState(err) != noSuchDatabase {
		return db, inWords(err, a)
	}
	server, err := ping(ctx, a.at(maintenance))
	if err != nil {
		return nil, inWords(err, a)
	}
	defer func() { _ = server.Close() }()
	_, err = server.ExecContext(ctx, `CREATE DATABASE "`+strings.ReplaceAll(a.database(), `"`, `""`)+`"`)
	if err != nil {
		return nil, inWords(err, a)
	}
	db, err = ping(ctx, a)
	return db, inWords(err, a)
}

func ping(ctx context.Context, a address) (*sql.DB, error) {
	db, err := sql.Open(driverName, a.url.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	err = db.PingContext(ctx)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// inWords adds to an error what was wanted, and what to do if the user has no right to it.
func inWords(err error, a address) error {
	if err == nil {
		return nil
	}
	if sqlState(err) == notAllowed {
		err = fmt.Errorf("%w; create it as an administrator with the user %s for its owner", err, a.url.User.Username())
	}
	return fmt.Errorf("open database %s at %s: %w", a.database(), a.url.Host, err)
}

// sqlState is PostgreSQL's code of an error, empty for others.
func sqlState(err error) string {
	coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return ""
	}
	return coded.SQLState()
}

func firstLine(statement string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(statement), "\n")
	return line
}
