package temporal

import (
	"fmt"
	"os"
	"path/filepath"

	"ostinato.dev/ostinato/internal/devstack/process"
)

// lockFile is held by the one process that uses a data directory.
const lockFile = "lock"

// lockDataDir creates dir when missing and takes its lock. It fails at once when another server holds it.
func lockDataDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory %s: %w", dir, err)
	}
	unlock, ok, err := process.TryLock(filepath.Join(dir, lockFile))
	if err == nil && !ok {
		err = fmt.Errorf("data directory %s is in use by another Temporal server", dir)
	}
	return unlock, err
}
