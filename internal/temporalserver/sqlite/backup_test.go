package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABackupOfDatabasesInUseIsWhole(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	used := openFiles(t, dir)
	t.Cleanup(func() { closeFiles(t, used) })
	opened, err := findDatabase(filepath.Join(dir, databaseFolder, executionsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE mine (n INTEGER)", "INSERT INTO mine VALUES (7)"} {
		if _, err := opened.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// What was left of one that was cut short is no hindrance.
	if err := os.MkdirAll(filepath.Join(target+".partial", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), dir, target); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.db.ExecContext(t.Context(), "INSERT INTO mine VALUES (8)"); err != nil {
		t.Errorf("the server can't write after it: %v", err)
	}
	err = Backup(t.Context(), dir, target)
	if err == nil || !strings.Contains(err.Error(), "it is there already") {
		t.Errorf("a second backup to the same folder: %v", err)
	}

	// Restored, it is what a server opens.
	restored := t.TempDir()
	if err := os.Rename(target, filepath.Join(restored, databaseFolder)); err != nil {
		t.Fatal(err)
	}
	again := openFiles(t, restored)
	t.Cleanup(func() { closeFiles(t, again) })
	if again.Lost != "" {
		t.Errorf("lost %q", again.Lost)
	}
	opened, err = findDatabase(filepath.Join(restored, databaseFolder, executionsFile))
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	if err := opened.db.QueryRowContext(t.Context(), "SELECT sum(n) FROM mine").Scan(&sum); err != nil || sum != 7 {
		t.Errorf("the rows add up to %d (%v), want 7", sum, err)
	}
}

func TestABackupOfNothingSaysSo(t *testing.T) {
	target := filepath.Join(t.TempDir(), "backup")
	err := Backup(t.Context(), t.TempDir(), target)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(target + "*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
