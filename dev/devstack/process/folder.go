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

// ReplaceFolder makes a folder what another one is. What was in it is gone; the other one stays as it is. No process may use
// either.
func ReplaceFolder(path, with string) error {
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := os.CopyFS(path, os.DirFS(with)); err != nil {
		return fmt.Errorf("replace %s by %s: %w", path, with, err)
	}
	return PrivateFolder(path)
}
