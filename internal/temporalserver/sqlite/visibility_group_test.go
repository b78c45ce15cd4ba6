package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// visibilityWrite is one statement that reached the tables.
type visibilityWrite struct {
	run     string
	version int64
	replace bool
}

// recordedTables are visibility tables that only record. Methods that a group does not need are missing.
type recordedTables struct {
	sqlplugin.DB

	mutex   sync.Mutex
	commits int
	writes  []visibilityWrite
	// refused is a run whose writes fail.
	refused string
}

var errRefused = errors.New("refused")

func (r *recordedTables) BeginTx(context.Context) (sqlplugin.Tx, error) {
	return &recordedTx{tables: r}, nil
}

func (r *recordedTables) InsertIntoVisibility(_ context.Context, row *sqlplugin.VisibilityRow) (sql.Result, error) {
	return nil, r.record(visibilityWrite{run: row.RunID, version: row.Version})
}

func (r *recordedTables) ReplaceIntoVisibility(_ context.Context, row *sqlplugin.VisibilityRow) (sql.Result, error) {
	return nil, r.record(visibilityWrite{run: row.RunID, version: row.Version, replace: true})
}

func (r *recordedTables) record(writes ...visibilityWrite) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, write := range writes {
		if write.run == r.refused {
			return errRefused
		}
	}
	r.commits++
	r.writes = append(r.writes, writes...)
	return nil
}

// recordedTx hands its writes to the tables at commit.
type recordedTx struct {
	sqlplugin.Tx
	tables *recordedTables
	writes []visibilityWrite
}

func (r *recordedTx) InsertIntoVisibility(_ context.Context, row *sqlplugin.VisibilityRow) (sql.Result, error) {
	r.writes = append(r.writes, visibilityWrite{run: row.RunID, version: row.Version})
	return nil, nil
}

func (r *recordedTx) ReplaceIntoVisibility(_ context.Context, row *sqlplugin.VisibilityRow) (sql.Result, error) {
	r.writes = append(r.writes, visibilityWrite{run: row.RunID, version: row.Version, replace: true})
	return nil, nil
}

func (r *recordedTx) Commit() error   { return r.tables.record(r.writes...) }
func (r *recordedTx) Rollback() error { return nil }

func TestGroupedVisibility(t *testing.T) {
	insert := func(run string, version int64) visibilityWrite { return visibilityWrite{run: run, version: version} }
	replace := func(run string, version int64) visibilityWrite {
		return visibilityWrite{run: run, version: version, replace: true}
	}
	for _, test := range []struct {
		name        string
		records     []visibilityWrite
		refused     string
		want        []visibilityWrite
		wantCommits int
		wantErrors  int
	}{
		{name: "one record", records: []visibilityWrite{insert("a", 1)}, want: []visibilityWrite{insert("a", 1)}, wantCommits: 1},
		{
			name:    "started, changed and closed become one",
			records: []visibilityWrite{insert("a", 1), replace("a", 2), replace("a", 3)},
			want:    []visibilityWrite{replace("a", 3)}, wantCommits: 1,
		},
		{
			name:    "the newest wins in whatever order they come",
			records: []visibilityWrite{replace("a", 3), insert("a", 1), replace("a", 2)},
			want:    []visibilityWrite{replace("a", 3)}, wantCommits: 1,
		},
		{
			name:    "several runs are committed together",
			records: []visibilityWrite{insert("a", 1), replace("b", 2), insert("c", 3)},
			want:    []visibilityWrite{insert("a", 1), replace("b", 2), insert("c", 3)}, wantCommits: 1,
		},
		{
			name:    "one that is refused does not hold up the others",
			records: []visibilityWrite{insert("a", 1), replace("bad", 2), insert("c", 3)}, refused: "bad",
			want: []visibilityWrite{insert("a", 1), insert("c", 3)}, wantCommits: 2, wantErrors: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := &recordedTables{refused: test.refused}
			group := newVisibilityGroup()
			var entries []*visibilityEntry
			for _, r := range test.records {
				row := &sqlplugin.VisibilityRow{NamespaceID: "n", RunID: r.run, Version: r.version}
				entries = append(entries, group.add(visibilityRecord{row: row, replace: r.replace}))
			}
			group.commit(tables)
			slices.SortFunc(tables.writes, func(a, b visibilityWrite) int { return int(a.version - b.version) })
			if !slices.Equal(tables.writes, test.want) {
				t.Errorf("written %v, want %v", tables.writes, test.want)
			}
			if tables.commits != test.wantCommits {
				t.Errorf("commits = %d, want %d", tables.commits, test.wantCommits)
			}
			failed := 0
			for _, entry := range entries {
				if entry.err != nil {
					failed++
				}
			}
			if failed != test.wantErrors {
				t.Errorf("%d writers saw an error, want %d", failed, test.wantErrors)
			}
		})
	}
}

func TestGroupedVisibilityReturnsAfterTheCommit(t *testing.T) {
	tables := &recordedTables{}
	grouped := &groupedVisibility{DB: tables, delay: time.Millisecond}
	var writers sync.WaitGroup
	for version := range int64(10) {
		writers.Go(func() {
			result, err := grouped.ReplaceIntoVisibility(t.Context(), &sqlplugin.VisibilityRow{RunID: "a", Version: version})
			if err != nil {
				t.Error(err)
				return
			}
			if affected, err := result.RowsAffected(); err != nil || affected != 1 {
				t.Errorf("rows affected = %d, %v; want 1", affected, err)
			}
			tables.mutex.Lock()
			defer tables.mutex.Unlock()
			if len(tables.writes) == 0 {
				t.Error("returned before anything was written")
			}
		})
	}
	writers.Wait()
}

func TestGroupedVisibilityGivesUpWithItsContext(t *testing.T) {
	grouped := &groupedVisibility{DB: &recordedTables{}, delay: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := grouped.InsertIntoVisibility(ctx, &sqlplugin.VisibilityRow{RunID: "a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}
