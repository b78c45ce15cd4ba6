package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/headers"
	postgresqlschema "go.temporal.io/server/schema/postgresql/v12"

	devpostgres "ostinato.dev/ostinato/dev/devstack/postgres"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/internal/temporalserver"
	"ostinato.dev/ostinato/internal/temporalserver/store"
)

// patience bounds the start of PostgreSQL.
const patience = 2 * time.Minute

// startServer runs a PostgreSQL server until the end of the test and returns the URL of a database in it that is not there.
func startServer(t *testing.T) string {
	t.Helper()
	_, err := devpostgres.Ensure(t.Context(), t.Output())
	if errors.Is(err, devpostgres.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ostinato-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server, err := devpostgres.Start(ctx, devpostgres.Options{Dir: filepath.Join(dir, "data"), Port: port, Connections: 100, LogFile: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := server.Stop()
		if err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf("postgres://%s:%s@%s/ostinato?sslmode=disable", devpostgres.User, server.Password, server.Address)
}

func openURL(url string) store.Open {
	return func(ctx context.Context) (store.Databases, error) {
		return Open(ctx, Options{URL: url, Logger: slog.New(slog.DiscardHandler)})
	}
}

// exec executes statements in a database of the server.
func exec(t *testing.T, url string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driverName, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// text returns what a query finds.
func text(t *testing.T, url, query string) (found string) {
	t.Helper()
	db, err := sql.Open(driverName, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(t.Context(), query).Scan(&found)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

func TestAServerKeepsItsWorkflowsInPostgreSQL(t *testing.T) {
	url := startServer(t)
	visibility := strings.Replace(url, "/ostinato?", "/ostinato_visibility?", 1)
	const tables = "SELECT curr_version FROM schema_version WHERE db_name = current_database()"

	// What is started before a restart is there afterwards.
	for restart := range 2 {
		server, err := temporalserver.Start(t.Context(), temporalserver.Options{Open: openURL(url)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Dial(client.Options{HostPort: server.FrontendAddress(), Logger: quiet{}})
		if err != nil {
			t.Fatal(err)
		}
		if restart == 0 {
			_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "none"}, "any")
		} else {
			_, err = c.DescribeWorkflowExecution(t.Context(), "kept", "")
		}
		c.Close()
		err = errors.Join(err, server.Stop())
		if err != nil {
			t.Fatal(err)
		}
	}
	for database, want := range map[string]string{url: postgresqlschema.Version, visibility: postgresqlschema.VisibilityVersion} {
		if got := text(t, database, tables); got != want {
			t.Errorf("the tables have version %s, want %s", got, want)
		}
	}
	if got := text(t, url, "SELECT version FROM ostinato_server"); got != headers.ServerVersion {
		t.Errorf("the database was used by Temporal %s, want %s", got, headers.ServerVersion)
	}

	// A server that would skip a version changes nothing.
	exec(t, url, "UPDATE ostinato_server SET version = '1.2.0'")
	_, err := openURL(url)(t.Context())
	if err == nil || !strings.Contains(err.Error(), "with Temporal 1.3 before, since none may be skipped") {
		t.Errorf("error %v", err)
	}
	if got := text(t, url, "SELECT version FROM ostinato_server"); got != "1.2.0" {
		t.Errorf("the version became %s", got)
	}
}

// The tables are led through each version; a step that fails leaves those before it, and a later start goes on from there.
func TestStepsGoOnWhereTheyStopped(t *testing.T) {
	url := startServer(t)
	maintenanceURL := strings.Replace(url, "/ostinato?", "/postgres?", 1)
	exec(t, maintenanceURL, `CREATE DATABASE ostinato`)
	// The table that version 1.19 makes is in its way.
	exec(t, url, `CREATE TABLE current_chasm_executions (mine INTEGER)`)
	_, err := openURL(url)(t.Context())
	if err == nil || !strings.Contains(err.Error(), `lead the tables from version "1.18" to 1.19: CREATE TABLE current_chasm_executions(`) {
		t.Fatalf("error %v", err)
	}
	const tables = "SELECT curr_version FROM schema_version WHERE db_name = current_database()"
	if got := text(t, url, tables); got != "1.18" {
		t.Errorf("the tables have version %s, want 1.18", got)
	}
	exec(t, url, `DROP TABLE current_chasm_executions`)
	databases, err := openURL(url)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := databases.Close(); err != nil {
		t.Error(err)
	}
	if got := text(t, url, tables); got != postgresqlschema.Version {
		t.Errorf("the tables have version %s, want %s", got, postgresqlschema.Version)
	}
	if got := text(t, url, "SELECT string_agg(new_version, ' ' ORDER BY update_time) FROM schema_update_history"); !strings.HasPrefix(got, "1.0 1.1 1.2 ") || !strings.HasSuffix(got, " 1.18 1.19") {
		t.Errorf("the history of the tables is %s", got)
	}

	// A process that planned from another version does nothing.
	steps, err := readSteps(executionsSteps)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driverName, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = apply(t.Context(), db, "1.18", steps[len(steps)-1])
	if err == nil || !strings.Contains(err.Error(), "another process led them") {
		t.Errorf("error %v", err)
	}
}

// A user without the right to make a database hears what to do, and can use one that an administrator made.
func TestAUserWithoutRightsIsToldWhatToDo(t *testing.T) {
	url := startServer(t)
	maintenanceURL := strings.Replace(url, "/ostinato?", "/postgres?", 1)
	exec(t, maintenanceURL, `CREATE ROLE ada LOGIN PASSWORD 'secret'`)
	_, after, _ := strings.Cut(url, "@")
	hers := "postgres://ada:secret@" + after
	_, err := openURL(hers)(t.Context())
	if err == nil || !strings.Contains(err.Error(), "create it as an administrator with the user ada for its owner") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	exec(t, maintenanceURL, `CREATE DATABASE ostinato OWNER ada`, `CREATE DATABASE ostinato_visibility OWNER ada`)
	databases, err := openURL(hers)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := databases.Close(); err != nil {
		t.Error(err)
	}
}

// quiet is a logger of the SDK that says nothing.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
