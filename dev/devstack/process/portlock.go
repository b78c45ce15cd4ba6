package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// portLocks opens the folder of the locks of ports, which all programs of this user share. Its name is known to every
// user of the machine, and so is the folder for temporary files, where all of them may write: a stranger may have made
// it first. What is returned stays the folder that was judged, whatever its name leads to later, and no link in it leads
// out of it.
func portLocks() (*os.Root, error) {
	temporary := os.TempDir()
	name := fmt.Sprintf("ostinato-ports-%d", os.Getuid())
	parent, err := os.OpenRoot(temporary)
	if err != nil {
		return nil, fmt.Errorf("locks of ports: %w", err)
	}
	defer parent.Close()
	folder, err := openOwn(parent, name)
	if err != nil {
		path := filepath.Join(temporary, name)
		return nil, fmt.Errorf("locks of ports: %s: %w; remove it, or set TMPDIR to a folder where only you may write", path, err)
	}
	return folder, nil
}

// openOwn opens a folder of this user's alone, and makes it where it is missing.
func openOwn(parent *os.Root, name string) (*os.Root, error) {
	if err := parent.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	named, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := judgeFolder(named, os.Getuid()); err != nil {
		return nil, err
	}
	folder, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// What was opened is what was judged, unless the name was given to another folder in between.
	opened, err := folder.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errors.New("it was replaced while it was opened")
	}
	if err == nil && opened.Mode().Perm() != 0o700 {
		// Others may read it, as an earlier version had it, and could take the locks in it.
		err = folder.Chmod(".", 0o700)
	}
	if err != nil {
		folder.Close()
		return nil, err
	}
	return folder, nil
}

// judgeFolder returns an error unless this is a folder of the user's in which no other user may have put anything.
func judgeFolder(folder fs.FileInfo, uid int) error {
	if !folder.IsDir() {
		return fmt.Errorf("it is no folder (%s)", folder.Mode())
	}
	status, ok := folder.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner is not known")
	}
	if int(status.Uid) != uid {
		return fmt.Errorf("it belongs to the user with ID %d", status.Uid)
	}
	if folder.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write in it (%s)", folder.Mode())
	}
	return nil
}

// lockPort takes the lock of a port, as TryLock does that of a file.
func lockPort(locks *os.Root, port int) (unlock func(), ok bool, err error) {
	file, err := locks.OpenFile(strconv.Itoa(port), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("lock port %d in %s: %w", port, locks.Name(), err)
	}
	return lockFile(file)
}
