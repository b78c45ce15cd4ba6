package temporal

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/schema"
	"go.temporal.io/server/schema/sqlite"
)

// visibilitySchema is where the server keeps its SQLite visibility schema.
const visibilitySchema = "sqlite/v3/visibility/schema.sql"

// keptIndexes serve the list page's order and looking a workflow up. Every other listing scans, which is fast enough for
// what one machine holds, whereas each of the server's 58 indexes costs at every write, used or not.
var keptIndexes = map[string]bool{"default_idx": true, "by_workflow_id": true}

var createIndex = regexp.MustCompile(`(?m)^CREATE INDEX (\w+)\s+ON executions_visibility\b`)

// ensureSchema creates the server's tables in db, unless it holds them already. They appear in one transaction, so a
// process killed on the way leaves an empty database that the next start fills.
func ensureSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	var tables int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table'").Scan(&tables); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if tables > 0 {
		return nil
	}
	if err := sqlite.SetupSchemaOnDB(schemaTx{ctx: ctx, tx: tx}); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	statements, err := fs.ReadFile(schema.Assets(), visibilitySchema)
	if err != nil {
		return fmt.Errorf("read visibility schema: %w", err)
	}
	for _, index := range droppedIndexes(string(statements)) {
		if _, err := tx.ExecContext(ctx, "DROP INDEX "+index); err != nil {
			return fmt.Errorf("drop index %s: %w", index, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	return nil
}

// droppedIndexes are the indexes of a visibility schema that are not kept.
func droppedIndexes(schema string) []string {
	var dropped []string
	for _, match := range createIndex.FindAllStringSubmatch(schema, -1) {
		if !keptIndexes[match[1]] {
			dropped = append(dropped, match[1])
		}
	}
	return dropped
}

// schemaTx lends a transaction to the server's schema set-up, which calls nothing but Exec.
type schemaTx struct {
	sqlplugin.AdminDB
	ctx context.Context
	tx  *sql.Tx
}

func (s schemaTx) Exec(statement string, args ...any) error {
	_, err := s.tx.ExecContext(s.ctx, statement, args...)
	return err
}
