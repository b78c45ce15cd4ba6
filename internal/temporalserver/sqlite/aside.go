package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// asidePrefix begins the names of folders of databases that were set aside.
	asidePrefix = databaseFolder + "-of-"
	// reasonFile, in such a folder, says why.
	reasonFile = "why.txt"
)

// mark is what a database says about its schema.
type mark struct {
	// tables is how many there are. A process that was killed while it made a database leaves none.
	tables int
	// schema is the hash of the schema that the database was made with, empty if it doesn't say.
	schema string
}

// contents is how many workflows databases hold.
type contents struct{ workflows, running int64 }

// misfit says why databases don't fit a server whose schema has the hash. It is empty where they do.
func misfit(executions, visibility mark, schema string) string {
	if executions.tables == 0 && visibility.tables > 0 {
		return executionsFile + " is missing beside " + visibilityFile
	}
	for _, one := range []mark{executions, visibility} {
		switch {
		case one.tables == 0 || one.schema == schema:
		case one.schema == "":
			return "they don't say which schema of Temporal they have"
		default:
			return fmt.Sprintf("they have the schema %s of Temporal, and this version has %s", short(one.schema), short(schema))
		}
	}
	return ""
}

// asideName is the name of the folder for databases that are set aside.
func asideName(executions mark, now time.Time) string {
	schema := "unknown-schema"
	if executions.schema != "" {
		schema = "schema-" + short(executions.schema)
	}
	return asidePrefix + schema + "-kept-" + now.UTC().Format("20060102T150405Z")
}

// loss says what is lost with databases that are set aside. Nothing is known of what is in them where found is nil.
func loss(reason, folder string, found *contents, now time.Time) string {
	held := "How many workflows they hold is not known"
	if found != nil {
		held = fmt.Sprintf("They hold %d workflows, of them %d that had not ended", found.workflows, found.running)
	}
	return fmt.Sprintf("The databases were set aside at %s: %s. %s; new ones began empty. The old ones are in %s: remove that folder when nothing of it is needed.",
		now.UTC().Format(time.RFC3339), reason, held, folder)
}

// short is enough of a hash for people.
func short(hash string) string { return hash[:min(len(hash), 12)] }

// setAside renames the folder of databases if these have another schema than the server's. A process that is killed on the way
// leaves the folder under the one or the other name.
func setAside(ctx context.Context, o Options, now time.Time) error {
	folder := filepath.Join(o.Dir, databaseFolder)
	executions, err := readMark(ctx, databaseIn(folder, executionsFile, o.Synchronous))
	if err != nil {
		return err
	}
	visibility, err := readMark(ctx, databaseIn(folder, visibilityFile, o.Synchronous))
	if err != nil {
		return err
	}
	schema, err := schemaHash()
	if err != nil {
		return err
	}
	reason := misfit(executions, visibility, schema)
	if reason == "" {
		return nil
	}
	aside := filepath.Join(o.Dir, asideName(executions, now))
	words := loss(reason, aside, readContents(ctx, databaseIn(folder, visibilityFile, o.Synchronous)), now)
	err = os.WriteFile(filepath.Join(folder, reasonFile), []byte(words+"\n"), 0o600)
	if err == nil {
		err = os.Rename(folder, aside)
	}
	if err == nil {
		err = syncFolder(o.Dir)
	}
	if err != nil {
		return fmt.Errorf("set databases aside (%s): %w", reason, err)
	}
	o.Logger.Warn("databases set aside", "why", words)
	return nil
}

// whatWasLost is what the newest of the folders that were set aside says, empty without any.
func whatWasLost(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("look for databases that were set aside: %w", err)
	}
	var newest string
	var at time.Time
	for _, file := range files {
		_, text, found := strings.Cut(file.Name(), "-kept-")
		kept, err := time.Parse("20060102T150405Z", text)
		if found && err == nil && strings.HasPrefix(file.Name(), asidePrefix) && !kept.Before(at) {
			newest, at = file.Name(), kept
		}
	}
	if newest == "" {
		return "", nil
	}
	words, err := os.ReadFile(filepath.Join(dir, newest, reasonFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "Databases that were set aside are in " + filepath.Join(dir, newest) + ".", nil
	}
	if err != nil {
		return "", fmt.Errorf("read why databases were set aside: %w", err)
	}
	return strings.TrimSpace(string(words)), nil
}

// readMark returns the mark of a database, the zero value if there is none.
func readMark(ctx context.Context, d database) (found mark, err error) {
	_, err = os.Stat(d.name)
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, fmt.Errorf("look for databases: %w", err)
	}
	db, err := d.connect()
	if err != nil {
		return mark{}, err
	}
	// The last connection to close moves the write-ahead log into the file, so that it can be renamed without one.
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return mark{}, unreadable(d, err)
	}
	var tables []string
	for rows.Next() {
		var name string
		err = rows.Scan(&name)
		if err != nil {
			break
		}
		tables = append(tables, name)
	}
	err = errors.Join(err, rows.Err(), rows.Close())
	found.tables = len(tables)
	if err == nil && slices.Contains(tables, markTable) {
		err = db.QueryRowContext(ctx, "SELECT schema FROM "+markTable).Scan(&found.schema)
	}
	if err != nil {
		return mark{}, unreadable(d, err)
	}
	return found, nil
}

// unreadable wraps an error of a database that there is. It is not set aside by itself: another try may read it.
func unreadable(d database, err error) error {
	return fmt.Errorf("read database %s: %w; if it stays so, restore a backup in the place of its folder, or move the folder away: CronJobs and Jobs go on from their objects", d.name, err)
}

// readContents returns what a visibility database of any schema holds, nil if it does not say.
func readContents(ctx context.Context, visibility database) *contents {
	db, err := visibility.connect()
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }()
	var found contents
	// 1 is Temporal's number for a workflow that runs.
	err = db.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(status = 1), 0) FROM executions_visibility").Scan(&found.workflows, &found.running)
	if err != nil {
		return nil
	}
	return &found
}
