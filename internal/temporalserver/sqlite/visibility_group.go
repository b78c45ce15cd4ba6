package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"time"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// visibilityDelay is how long a visibility record may wait for others. A listing is late by as much.
const visibilityDelay = 200 * time.Millisecond

// groupedVisibility writes visibility records that arrive close together in one transaction, and of several records of
// one run only the newest. A short run has three (started, search attributes, closed), and each costs about as much as
// all other writes of a workflow task together. Every caller waits until its record is committed, so what the server
// takes for written is written.
type groupedVisibility struct {
	sqlplugin.DB
	delay time.Duration

	mutex sync.Mutex
	open  *visibilityGroup
}

// InsertIntoVisibility writes row unless its run has a record.
func (g *groupedVisibility) InsertIntoVisibility(ctx context.Context, row *sqlplugin.VisibilityRow) (sql.Result, error) {
	return g.write(ctx, visibilityRecord{row: row})
}

// ReplaceIntoVisibility writes row unless its run has a record of the same or a higher version.
func (g *groupedVisibility) ReplaceIntoVisibility(ctx context.Context, row *sqlplugin.VisibilityRow) (sql.Result, error) {
	return g.write(ctx, visibilityRecord{row: row, replace: true})
}

// DeleteFromVisibility deletes after what is waiting to be written.
func (g *groupedVisibility) DeleteFromVisibility(ctx context.Context, filter sqlplugin.VisibilityDeleteFilter) (sql.Result, error) {
	g.mutex.Lock()
	group := g.open
	g.mutex.Unlock()
	if group != nil {
		if err := group.wait(ctx); err != nil {
			return nil, err
		}
	}
	return g.DB.DeleteFromVisibility(ctx, filter)
}

func (g *groupedVisibility) write(ctx context.Context, record visibilityRecord) (sql.Result, error) {
	g.mutex.Lock()
	if g.open == nil {
		g.open = newVisibilityGroup()
		time.AfterFunc(g.delay, g.flush)
	}
	group := g.open
	entry := group.add(record)
	g.mutex.Unlock()
	if err := group.wait(ctx); err != nil {
		return nil, err
	}
	return driver.RowsAffected(1), entry.err
}

// flush commits the open group. Records that arrive meanwhile open the next.
func (g *groupedVisibility) flush() {
	g.mutex.Lock()
	group := g.open
	g.open = nil
	g.mutex.Unlock()
	group.commit(g.DB)
}

// visibilityRun identifies a run across namespaces.
type visibilityRun struct{ namespaceID, runID string }

// visibilityRecord is a row to write. One that does not replace only fills a gap.
type visibilityRecord struct {
	row     *sqlplugin.VisibilityRow
	replace bool
}

// supersedes says whether writing r alone leaves the same as writing both r and other.
func (r visibilityRecord) supersedes(other visibilityRecord) bool {
	if r.replace != other.replace {
		return r.replace
	}
	return r.replace && r.row.Version > other.row.Version
}

func (r visibilityRecord) write(ctx context.Context, table sqlplugin.Visibility) error {
	if r.replace {
		_, err := table.ReplaceIntoVisibility(ctx, r.row)
		return err
	}
	_, err := table.InsertIntoVisibility(ctx, r.row)
	return err
}

// visibilityEntry is the newest record of one run in a group. err may be read after the group is committed.
type visibilityEntry struct {
	record visibilityRecord
	err    error
}

// visibilityGroup is committed as a whole.
type visibilityGroup struct {
	entries   map[visibilityRun]*visibilityEntry
	committed chan struct{}
}

func newVisibilityGroup() *visibilityGroup {
	return &visibilityGroup{entries: map[visibilityRun]*visibilityEntry{}, committed: make(chan struct{})}
}

// add puts record into the group unless it holds a newer one of the run. It returns the entry that tells the outcome.
func (g *visibilityGroup) add(record visibilityRecord) *visibilityEntry {
	run := visibilityRun{record.row.NamespaceID, record.row.RunID}
	entry, known := g.entries[run]
	switch {
	case !known:
		entry = &visibilityEntry{record: record}
		g.entries[run] = entry
	case record.supersedes(entry.record):
		entry.record = record
	}
	return entry
}

// wait returns when the group is committed or ctx ends.
func (g *visibilityGroup) wait(ctx context.Context) error {
	select {
	case <-g.committed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit writes the group in one transaction. When that fails each record is written by itself, so that one bad record
// is not held against the others.
func (g *visibilityGroup) commit(db sqlplugin.DB) {
	defer close(g.committed)
	ctx, cancel := context.WithTimeout(context.Background(), visibilityCommitTimeout)
	defer cancel()
	if g.commitTogether(ctx, db) == nil {
		return
	}
	for _, entry := range g.entries {
		entry.err = entry.record.write(ctx, db)
	}
}

// visibilityCommitTimeout bounds the write of one group.
const visibilityCommitTimeout = 10 * time.Second

func (g *visibilityGroup) commitTogether(ctx context.Context, db sqlplugin.DB) error {
	tx, err := db.BeginTx(ctx)
	if err != nil {
		return err
	}
	for _, entry := range g.entries {
		if err := entry.record.write(ctx, tx); err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}
