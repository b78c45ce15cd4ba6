package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/schema"
	serversqlite "go.temporal.io/server/schema/sqlite"
)

// Where the server keeps its SQLite schemas.
const (
	executionsSchema = "sqlite/v3/temporal/schema.sql"
	visibilitySchema = "sqlite/v3/visibility/schema.sql"
)

// markTable has one row, with the hash of the schema that a database was made with.
const markTable = "ostinato_schema"

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
	if err := serversqlite.SetupSchemaOnDB(schemaTx{ctx: ctx, tx: tx}); err != nil {
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
	hash, err := schemaHash()
	if err != nil {
		return err
	}
	for _, statement := range []string{"CREATE TABLE " + markTable + " (schema TEXT NOT NULL)", "INSERT INTO " + markTable + " VALUES ('" + hash + "')"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("mark the schema: %w", err)
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

// schemaHash is the hash of what ensureSchema makes: of the server's statements without comments and layout, and of the indexes
// that are kept.
func schemaHash() (string, error) {
	digest := sha256.New()
	for _, name := range []string{executionsSchema, visibilitySchema} {
		text, err := fs.ReadFile(schema.Assets(), name)
		if err != nil {
			return "", fmt.Errorf("read the server's schema: %w", err)
		}
		statements, err := persistence.LoadAndSplitQueryFromReaders([]io.Reader{bytes.NewReader(text)})
		if err != nil {
			return "", fmt.Errorf("read the server's schema %s: %w", name, err)
		}
		for _, statement := range statements {
			fmt.Fprintln(digest, strings.Join(strings.Fields(statement), " "))
		}
	}
	fmt.Fprintln(digest, slices.Sorted(maps.Keys(keptIndexes)))
	return hex.EncodeToString(digest.Sum(nil)), nil
}
