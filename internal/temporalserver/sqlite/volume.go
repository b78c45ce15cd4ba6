package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// codeFull is SQLite's SQLITE_FULL.
const codeFull = 13

// inWords adds to an error of the driver what to do if the volume is full. Every other error stays the same value: the server
// knows some by their type.
func inWords(err error, database string) error {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	if !ok || coded.Code()&0xff != codeFull {
		return err
	}
	return fmt.Errorf("the volume of %s is full, and no workflow goes on until there is room: make it larger, remove backups and databases that were set aside, or shorten --retention: %w",
		filepath.Dir(database), err)
}

// Space is the size of a volume, and what is free of it for this process, in bytes.
type Space struct{ Free, Total uint64 }

// SpaceOf returns the space of the volume that a folder is on.
func SpaceOf(dir string) (Space, error) {
	var found syscall.Statfs_t
	err := syscall.Statfs(dir, &found)
	if err != nil {
		return Space{}, fmt.Errorf("look how full the volume of %s is: %w", dir, err)
	}
	size := uint64(found.Bsize)
	return Space{Free: found.Bavail * size, Total: found.Blocks * size}, nil
}

// littleSpace is four times the largest log that SQLite leaves between checkpoints.
const littleSpace = 256 << 20

// Little reports whether a volume is nearly full: a tenth of it is free, and not more than what the databases may need at once.
func (s Space) Little() bool { return s.Free < min(s.Total/10, littleSpace) }
