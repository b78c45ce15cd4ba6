package sqlite

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/temporalserver/store"
)

func TestDatabasesThatDontFit(t *testing.T) {
	const now, before = "0123456789abcdef", "fedcba9876543210"
	full, other, unmarked, empty := mark{20, now}, mark{20, before}, mark{20, ""}, mark{}
	for _, test := range []struct {
		name                   string
		executions, visibility mark
		want                   string
	}{
		{"new ones", empty, empty, ""},
		{"equal schemas", full, full, ""},
		{"a process was killed while it made the second", full, empty, ""},
		{"an earlier schema", other, other, "they have the schema fedcba987654 of Temporal, and this version has 0123456789ab"},
		{"an earlier schema in the second", full, other, "they have the schema fedcba987654"},
		{"no word of a schema", unmarked, unmarked, "they don't say which schema of Temporal they have"},
		{"the lists of what is not there", empty, full, "executions.db is missing beside visibility.db"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := misfit(test.executions, test.visibility, now)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("misfit = %q, want %q", got, test.want)
			}
		})
	}
}

// openFiles opens databases in a folder.
func openFiles(t *testing.T, dir string) store.Databases {
	t.Helper()
	opened, err := Open(t.Context(), Options{Dir: dir, Synchronous: SynchronousOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// closeFiles closes them.
func closeFiles(t *testing.T, opened store.Databases) {
	t.Helper()
	err := opened.Close()
	if err != nil {
		t.Fatal(err)
	}
}

// change executes statements in a database that no server uses.
func change(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := database{name: path, synchronous: SynchronousOff}.connect()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		_, err = db.ExecContext(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
	}
	err = db.Close()
	if err != nil {
		t.Fatal(err)
	}
}

// tablesCalled counts the tables of a name.
func tablesCalled(t *testing.T, db *sql.DB, name string) (count int) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", name).Scan(&count)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func TestDatabasesOfAnotherSchemaAreSetAside(t *testing.T) {
	dir := t.TempDir()
	executions := filepath.Join(dir, databaseFolder, executionsFile)
	visibility := filepath.Join(dir, databaseFolder, visibilityFile)
	first := openFiles(t, dir)
	if first.Lost != "" {
		t.Errorf("new databases lost %q", first.Lost)
	}
	closeFiles(t, first)
	change(t, visibility,
		"INSERT INTO executions_visibility (namespace_id, run_id, start_time, execution_time, workflow_id, workflow_type_name, status, memo, encoding, task_queue) VALUES ('n', 'r1', 0, 0, 'w1', 't', 1, NULL, '', '')",
		"INSERT INTO executions_visibility (namespace_id, run_id, start_time, execution_time, workflow_id, workflow_type_name, status, memo, encoding, task_queue) VALUES ('n', 'r2', 0, 0, 'w2', 't', 2, NULL, '', '')")
	change(t, executions, "CREATE TABLE mine (n INTEGER)")

	// Equal schemas: the files stay.
	same := openFiles(t, dir)
	opened, err := findDatabase(executions)
	if err != nil {
		t.Fatal(err)
	}
	if tablesCalled(t, opened.db, "mine") != 1 || same.Lost != "" {
		t.Errorf("a file of the same schema was not kept: %s", same.Lost)
	}
	closeFiles(t, same)

	for _, path := range []string{executions, visibility} {
		change(t, path, "UPDATE ostinato_schema SET schema = 'fedcba9876543210'")
	}
	second := openFiles(t, dir)
	opened, err = findDatabase(executions)
	if err != nil {
		t.Fatal(err)
	}
	if tablesCalled(t, opened.db, "mine") != 0 {
		t.Error("the file of another schema is in use")
	}
	closeFiles(t, second)
	kept, err := filepath.Glob(filepath.Join(dir, "databases-of-schema-fedcba987654-kept-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("folders %v (%v), want one", kept, err)
	}
	for _, want := range []string{"the schema fedcba987654 of Temporal", "They hold 2 workflows, of them 1 that had not ended", kept[0]} {
		if !strings.Contains(second.Lost, want) {
			t.Errorf("lost %q, want %q in it", second.Lost, want)
		}
	}
	db, err := database{name: filepath.Join(kept[0], executionsFile), synchronous: SynchronousOff}.connect()
	if err != nil {
		t.Fatal(err)
	}
	if tablesCalled(t, db, "mine") != 1 {
		t.Error("what was set aside is not whole")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	// It is told as long as the folder is there.
	third := openFiles(t, dir)
	closeFiles(t, third)
	if third.Lost != second.Lost {
		t.Errorf("at the next start lost %q, want %q", third.Lost, second.Lost)
	}
	if err := os.RemoveAll(kept[0]); err != nil {
		t.Fatal(err)
	}
	fourth := openFiles(t, dir)
	closeFiles(t, fourth)
	if fourth.Lost != "" {
		t.Errorf("without the folder lost %q", fourth.Lost)
	}
}

func TestTheNewestOfTwoFoldersIsTold(t *testing.T) {
	dir := t.TempDir()
	for at, schema := range map[string]string{"2026-01-02T00:00:00Z": "aaaa", "2026-03-01T00:00:00Z": "bbbb", "2026-02-03T00:00:00Z": "cccc"} {
		kept, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, asideName(mark{1, schema}, kept))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, reasonFile), []byte(schema+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if lost, err := whatWasLost(dir); err != nil || lost != "bbbb" {
		t.Errorf("lost %q (%v), want bbbb", lost, err)
	}
	newest, err := filepath.Glob(filepath.Join(dir, "*bbbb*"))
	if err != nil || len(newest) != 1 {
		t.Fatalf("folders %v (%v)", newest, err)
	}
	if err := os.Remove(filepath.Join(newest[0], reasonFile)); err != nil {
		t.Fatal(err)
	}
	if lost, err := whatWasLost(dir); err != nil || !strings.Contains(lost, newest[0]) {
		t.Errorf("without words of its own lost %q (%v), want %s in it", lost, err, newest[0])
	}
}

func TestADamagedFileIsNotSetAside(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, databaseFolder)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, executionsFile)
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Dir: dir, Synchronous: SynchronousOff, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "read database "+path) || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	// The lock is free again.
	unlock, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
