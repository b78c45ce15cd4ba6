package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// TryLock takes the lock of a file without waiting, and tells whether it got it. The lock is the kernel's: it goes with
// the process that holds it, however that ends, and children do not inherit it. The file and its folder are made. A file
// that is a symbolic link is an error, since opening it would make a file wherever the link leads.
func TryLock(path string) (unlock func(), ok bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, false, fmt.Errorf("lock %s: it is a symbolic link; remove it", path)
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	return lockFile(file)
}

// lockFile takes the lock of an open file, which it closes unless it got the lock.
func lockFile(file *os.File) (unlock func(), ok bool, err error) {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return func() { file.Close() }, true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		file.Close()
		return nil, false, nil
	default:
		file.Close()
		return nil, false, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
}
