package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const (
	// The server and Temporal's own tools read these two tables.
	createVersionTable = `CREATE TABLE IF NOT EXISTS schema_version(version_partition INT NOT NULL, db_name VARCHAR(255) NOT NULL,
		creation_time TIMESTAMP, curr_version VARCHAR(64), min_compatible_version VARCHAR(64), PRIMARY KEY (version_partition, db_name))`
	createHistoryTable = `CREATE TABLE IF NOT EXISTS schema_update_history(version_partition INT NOT NULL, year INT NOT NULL, month INT NOT NULL,
		update_time TIMESTAMP NOT NULL, description VARCHAR(255), manifest_md5 VARCHAR(64), new_version VARCHAR(64), old_version VARCHAR(64),
		PRIMARY KEY (version_partition, year, month, update_time))`
	writeVersion = `INSERT INTO schema_version(version_partition, db_name, creation_time, curr_version, min_compatible_version)
		VALUES (0, current_database(), now() AT TIME ZONE 'UTC', $1, $2)
		ON CONFLICT (version_partition, db_name) DO UPDATE SET creation_time = excluded.creation_time,
			curr_version = excluded.curr_version, min_compatible_version = excluded.min_compatible_version`
	writeHistory = `INSERT INTO schema_update_history(version_partition, year, month, update_time, old_version, new_version, manifest_md5, description)
		SELECT 0, extract(year FROM at), extract(month FROM at), at, $1, $2, '', $3 FROM (SELECT clock_timestamp() AT TIME ZONE 'UTC' AS at) now`

	// createServerTable has one row: the version of the server that used the databases last.
	createServerTable = `CREATE TABLE IF NOT EXISTS ostinato_server(version VARCHAR(64) NOT NULL)`

	// lockTables keeps a second process that starts at the same time from the same step. It goes with the transaction.
	lockTables = `SELECT pg_advisory_xact_lock(7233)`
)

// readTables returns the version of the tables in a database, empty where there are none.
func readTables(ctx context.Context, db *sql.DB) (string, error) {
	return readOne(ctx, db, "schema_version", `SELECT curr_version FROM schema_version WHERE version_partition = 0 AND db_name = current_database()`)
}

// readServer returns the version of the server that used the database last, empty where it doesn't say.
func readServer(ctx context.Context, db *sql.DB) (string, error) {
	return readOne(ctx, db, "ostinato_server", `SELECT version FROM ostinato_server`)
}

// reader is a database, or a transaction in it.
type reader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readOne returns the one text that a query finds, empty without a table or a row.
func readOne(ctx context.Context, db reader, table, query string) (text string, err error) {
	var there bool
	err = db.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&there)
	if err != nil || !there {
		return "", err
	}
	err = db.QueryRowContext(ctx, query).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// writeServer notes the version of the server that uses the database from now on.
func writeServer(ctx context.Context, db *sql.DB, version string) error {
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		for _, statement := range []string{createServerTable, `DELETE FROM ostinato_server`} {
			_, err := tx.ExecContext(ctx, statement)
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO ostinato_server VALUES ($1)`, version)
		return err
	})
}

// apply leads tables of a version to that of a step, all or nothing.
func apply(ctx context.Context, db *sql.DB, from string, to step) error {
	err := inTransaction(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, lockTables)
		if err != nil {
			return err
		}
		now, err := readOne(ctx, tx, "schema_version", `SELECT curr_version FROM schema_version WHERE version_partition = 0 AND db_name = current_database()`)
		if err != nil {
			return err
		}
		if now != from {
			return fmt.Errorf("another process led them from version %q to %q meanwhile: only one may use the databases", from, now)
		}
		for _, statement := range append([]string{createVersionTable, createHistoryTable}, to.statements...) {
			_, err := tx.ExecContext(ctx, statement)
			if err != nil {
				return fmt.Errorf("%s: %w", firstLine(statement), err)
			}
		}
		_, err = tx.ExecContext(ctx, writeVersion, to.version.String(), to.manifest.Minimum)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, writeHistory, from, to.version.String(), to.manifest.Description)
		return err
	})
	if err != nil {
		return fmt.Errorf("lead the tables from version %q to %s: %w", from, to.version, err)
	}
	return nil
}

func inTransaction(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = do(tx)
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
