package process

import (
	"fmt"
	"os"
)

// PrivateFolder makes a folder of this user's alone, and those above it that are missing. If the folder is there, it is
// closed to others; what is above it stays as it is.
func PrivateFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("close %s to other users: %w", path, err)
	}
	return nil
}
