package temporal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is held by the one process that uses a data directory.
const lockFile = "lock"

// dataDirLock is an advisory lock. The operating system releases it when the process ends, however it ends.
type dataDirLock struct{ file *os.File }

// lockDataDir creates dir when missing and takes its lock. It fails at once when another server holds it.
func lockDataDir(dir string) (*dataDirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory %s: %w", dir, err)
	}
	path := filepath.Join(dir, lockFile)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory %s is not writable: %w", dir, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s is in use by another Temporal server", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &dataDirLock{file: file}, nil
}

// release gives the lock up. Releasing nil does nothing.
func (l *dataDirLock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
