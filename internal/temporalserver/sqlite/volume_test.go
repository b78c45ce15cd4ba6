package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// SQLite's own limit of pages stands for the end of the volume: it gives the same error.
func TestAFullVolumeIsSaidInWords(t *testing.T) {
	d := database{name: filepath.Join(t.TempDir(), "full.db"), synchronous: SynchronousOff}
	db := openTest(t, d, numbers)
	if _, err := db.ExecContext(t.Context(), "PRAGMA max_page_count = 10"); err != nil {
		t.Fatal(err)
	}
	const insert = "INSERT INTO numbers VALUES (randomblob(100000))"
	_, err := db.ExecContext(t.Context(), insert)
	if err == nil || !strings.Contains(err.Error(), "the volume of "+filepath.Dir(d.name)+" is full") || !strings.Contains(err.Error(), "(13)") {
		t.Errorf("error %v", err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(t.Context(), insert)
	if err == nil || !strings.Contains(err.Error(), " is full") {
		t.Errorf("error in a transaction %v", err)
	}
	_ = tx.Rollback()

	// With room it goes on.
	if _, err := db.ExecContext(t.Context(), "PRAGMA max_page_count = 10000"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), insert); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestOtherErrorsStayWhatTheyAre(t *testing.T) {
	db := openTest(t, database{name: t.Name(), inMemory: true}, numbers)
	_, err := db.ExecContext(t.Context(), "INSERT INTO nothing VALUES (1)")
	if err == nil || strings.Contains(err.Error(), "volume") {
		t.Errorf("error %v", err)
	}
}

func TestLittleSpace(t *testing.T) {
	const mebi = 1 << 20
	for _, test := range []struct {
		free, total uint64
		want        bool
	}{
		{2000 * mebi, 2048 * mebi, false},
		{205 * mebi, 2048 * mebi, false},
		{204 * mebi, 2048 * mebi, true},
		{256 * mebi, 1 << 40, false},
		{255 * mebi, 1 << 40, true},
		{0, 0, false},
	} {
		if got := (Space{test.free, test.total}).Little(); got != test.want {
			t.Errorf("%d of %d MiB free: little = %v, want %v", test.free/mebi, test.total/mebi, got, test.want)
		}
	}
	if space, err := SpaceOf(t.TempDir()); err != nil || space.Total == 0 || space.Free > space.Total {
		t.Errorf("the space here is %+v (%v)", space, err)
	}
}
