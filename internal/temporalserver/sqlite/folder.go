package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// lockFile is held by the one process that uses a folder.
	lockFile = "lock"
	// databaseFolder is a folder of its own so that both databases are renamed, and restored, as one.
	databaseFolder = "databases"
	executionsFile = "executions.db"
	visibilityFile = "visibility.db"
)

// databaseIn returns a database in a file.
func databaseIn(folder, file string, synchronous Synchronous) database {
	return database{name: filepath.Join(folder, file), synchronous: synchronous}
}

// lockFolder creates a folder when missing and takes its lock, which is the kernel's and goes with the process however that ends.
// It fails at once when another process holds it.
func lockFolder(dir string) (unlock func(), err error) {
	err = os.MkdirAll(dir, 0o700)
	if err != nil {
		return nil, fmt.Errorf("create data directory %s: %w", dir, err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("data directory %s is in use by another Temporal server", dir)
	}
	return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
}

// syncFolder puts the names in a folder on disk.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
