package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup copies the databases in a data directory, which a server may use meanwhile, to a new folder. A copy that was cut short
// has another name. To restore it, stop the server and put the folder in the place of DIR/databases.
//
// The lists of workflows are copied first: a workflow that a list lacks is in it again with its next step, whereas one that is
// only in the list would stay there.
func Backup(ctx context.Context, dir, target string) error {
	_, err := os.Lstat(target)
	if err == nil {
		return fmt.Errorf("back up to %s: it is there already; name a new folder", target)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up to %s: %w", target, err)
	}
	partial := target + ".partial"
	err = os.RemoveAll(partial)
	if err == nil {
		err = os.MkdirAll(partial, 0o700)
	}
	for _, file := range []string{visibilityFile, executionsFile} {
		if err == nil {
			err = copyDatabase(ctx, filepath.Join(dir, databaseFolder, file), filepath.Join(partial, file))
		}
	}
	if err == nil {
		err = syncFolder(partial)
	}
	if err == nil {
		err = os.Rename(partial, target)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(target))
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", target, errors.Join(err, os.RemoveAll(partial)))
	}
	return nil
}

// copyDatabase writes what is committed in a database to a new file.
func copyDatabase(ctx context.Context, source, target string) (err error) {
	_, err = os.Stat(source)
	if err != nil {
		return err
	}
	db, err := database{name: source, synchronous: SynchronousFull}.connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", target)
	if err != nil {
		return fmt.Errorf("copy database %s: %w", source, err)
	}
	copied, err := os.OpenFile(target, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(copied.Sync(), copied.Close())
}
