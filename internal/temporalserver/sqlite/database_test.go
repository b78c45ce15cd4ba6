package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
)

// openTest opens a database for one test.
func openTest(t *testing.T, d database, schema func(context.Context, *sql.DB) error) *sql.DB {
	t.Helper()
	if err := d.open(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	opened, err := findDatabase(d.name)
	if err != nil {
		t.Fatal(err)
	}
	return opened.db
}

func TestDatabaseDSN(t *testing.T) {
	for _, test := range []struct {
		name        string
		database    database
		wantPath    string
		wantMode    string
		wantPragmas []string
	}{
		{
			name: "a file", database: database{name: "/data/executions.db", synchronous: SynchronousNormal},
			wantPath: "/data/executions.db", wantMode: "rwc", wantPragmas: []string{"journal_mode(wal)", "synchronous(normal)"},
		},
		{
			name: "a file that may be lost with the machine", database: database{name: "/data/executions.db", synchronous: SynchronousOff},
			wantPath: "/data/executions.db", wantMode: "rwc", wantPragmas: []string{"synchronous(off)"},
		},
		{
			name: "a path with characters of a URI", database: database{name: "/da ta/50%?#/x.db", synchronous: SynchronousNormal},
			wantPath: "/da%20ta/50%25%3F%23/x.db", wantMode: "rwc",
		},
		{name: "in memory", database: database{name: "ostinato-1", inMemory: true}, wantPath: "ostinato-1", wantMode: "memory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, query, _ := strings.Cut(strings.TrimPrefix(test.database.dsn(), "file:"), "?")
			if path != test.wantPath {
				t.Errorf("path = %s, want %s", path, test.wantPath)
			}
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			if got := values.Get("mode"); got != test.wantMode {
				t.Errorf("mode = %s, want %s", got, test.wantMode)
			}
			for _, want := range test.wantPragmas {
				if !slices.Contains(values["_pragma"], want) {
					t.Errorf("pragmas = %v, want %s among them", values["_pragma"], want)
				}
			}
		})
	}
}

func numbers(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "CREATE TABLE numbers (n INTEGER)")
	return err
}

func TestStatementsAreReused(t *testing.T) {
	db := openTest(t, database{name: t.Name(), inMemory: true}, numbers)
	for n := range 3 {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO numbers VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
		var count int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM numbers").Scan(&count); err != nil {
			t.Fatal(err)
		}
		if count != n+1 {
			t.Errorf("%d rows after %d inserts", count, n+1)
		}
	}
	if got := cachedQueries(t, db); len(got) != 3 {
		t.Errorf("prepared %q, want the three different statements", got)
	}
}

func TestAStatementCanRunWhileItsRowsAreRead(t *testing.T) {
	db := openTest(t, database{name: t.Name(), inMemory: true}, numbers)
	if _, err := db.ExecContext(t.Context(), "INSERT INTO numbers VALUES (1), (2)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	const query = "SELECT n FROM numbers ORDER BY n"
	read := func() (all []int, _ error) {
		rows, err := tx.QueryContext(t.Context(), query)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				return nil, err
			}
			all = append(all, n)
		}
		return all, rows.Err()
	}
	outer, err := tx.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outer.Close() }()
	for want := 1; want <= 2; want++ {
		var n int
		if !outer.Next() {
			t.Fatalf("no row %d: %v", want, outer.Err())
		}
		if err := outer.Scan(&n); err != nil || n != want {
			t.Fatalf("row = %d, %v; want %d", n, err, want)
		}
		inner, err := read()
		if err != nil || !slices.Equal(inner, []int{1, 2}) {
			t.Fatalf("inner rows = %v, %v; want 1 and 2", inner, err)
		}
	}
}

func TestStatementsAreForgottenWhenThereAreTooMany(t *testing.T) {
	db := openTest(t, database{name: t.Name(), inMemory: true}, numbers)
	for n := range maximumStatements + 10 {
		var got int
		if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", n)).Scan(&got); err != nil || got != n {
			t.Fatalf("SELECT %d = %d, %v", n, got, err)
		}
	}
	if got := len(cachedQueries(t, db)); got != maximumStatements {
		t.Errorf("%d statements kept, want %d", got, maximumStatements)
	}
}

func TestAFailedStatementCanBeUsedAgain(t *testing.T) {
	db := openTest(t, database{name: t.Name(), inMemory: true}, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "CREATE TABLE names (name TEXT PRIMARY KEY)")
		return err
	})
	insert := func(name string) error {
		_, err := db.ExecContext(t.Context(), "INSERT INTO names VALUES (?)", name)
		return err
	}
	if err := insert("a"); err != nil {
		t.Fatal(err)
	}
	if err := insert("a"); err == nil {
		t.Error("a second a was taken")
	}
	if err := insert("b"); err != nil {
		t.Errorf("after a failure: %v", err)
	}
}

func TestAnEndedContextStartsNothing(t *testing.T) {
	db := openTest(t, database{name: t.Name(), inMemory: true}, numbers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.ExecContext(ctx, "INSERT INTO numbers VALUES (1)"); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	var count int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM numbers").Scan(&count); err != nil || count != 0 {
		t.Errorf("rows = %d, %v; want none", count, err)
	}
}

func TestSchemaIsCreatedOnceWithFewIndexes(t *testing.T) {
	d := database{name: filepath.Join(t.TempDir(), "visibility.db"), synchronous: SynchronousOff}
	indexes := func(db *sql.DB) (names []string) {
		rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL ORDER BY name")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return names
	}
	for range 2 {
		db := openTest(t, d, ensureSchema)
		if got, want := indexes(db), []string{"by_workflow_id", "default_idx"}; !slices.Equal(got, want) {
			t.Errorf("indexes = %v, want %v", got, want)
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThePluginUsesTheOpenDatabase(t *testing.T) {
	d := database{name: t.Name(), inMemory: true}
	db := openTest(t, d, ensureSchema)
	for _, kind := range []sqlplugin.DbKind{sqlplugin.DbKindMain, sqlplugin.DbKindVisibility} {
		tables, err := persistencesql.NewSQLAdminDB(kind, sqlConfig(d), resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
		if err != nil {
			t.Fatal(err)
		}
		if err := tables.Exec(fmt.Sprintf("CREATE TABLE made_by_plugin_%d (n INTEGER)", kind)); err != nil {
			t.Fatal(err)
		}
	}
	var count int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master WHERE name LIKE 'made_by_plugin_%'").Scan(&count); err != nil || count != 2 {
		t.Errorf("%d of the plugin's 2 tables are in the database, %v", count, err)
	}
}

func TestThePluginRefusesADatabaseThatIsNotOpen(t *testing.T) {
	_, err := persistencesql.NewSQLDB(sqlplugin.DbKindMain, sqlConfig(database{name: "missing"}), resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err == nil {
		t.Error("error = nil, want one")
	}
}

// cachedQueries are the texts of the statements that the one connection of db keeps.
func cachedQueries(t *testing.T, db *sql.DB) (queries []string) {
	t.Helper()
	connection, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	err = connection.Raw(func(raw any) error {
		for query := range raw.(*cachingConn).statements {
			queries = append(queries, query)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return queries
}
