package postgres

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is who runs PostgreSQL where we may not. The zero value is ourselves.
type owner struct {
	uid, gid int
	other    bool
}

// ordinaryUsers are whom root runs PostgreSQL as, the first that there is: Debian's package makes the first.
var ordinaryUsers = []string{"postgres", "nobody"}

// chooseOwner returns an ordinary user where we are root.
func chooseOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	for _, name := range ordinaryUsers {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return owner{}, fmt.Errorf("user %s: %w", name, err)
		}
		return owner{uid: uid, gid: gid, other: true}, nil
	}
	return owner{}, fmt.Errorf("PostgreSQL does not run as root, and there is none of the users %v to run it as", ordinaryUsers)
}

// attributes make a child run as the owner, with no group but the owner's.
func (o owner) attributes() *syscall.SysProcAttr {
	if !o.other {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}}
}

// give makes the owner the owner of a file or folder.
func (o owner) give(path string) error {
	if !o.other {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}

// sharedState is where root keeps data whose owner can't get into the folder that was asked for.
const sharedState = "/var/lib/ostinato"

// home makes the folder for the server's data, and returns it. It is the requested one if the owner can get there. The
// folder above it, the stack's own, is opened to the owner's group for that, and so are those above in the folder for
// temporary files. What else is closed, as root's home is, is not ours to open: the data is then in a folder under
// sharedState, and stays when the stack's folder goes.
func (o owner) home(asked string) (string, error) {
	if !o.other {
		return asked, os.MkdirAll(asked, 0o700)
	}
	stack := filepath.Dir(asked)
	if err := os.MkdirAll(stack, 0o755); err != nil {
		return "", err
	}
	ours := []string{stack}
	for inside(os.TempDir(), filepath.Dir(ours[len(ours)-1])) {
		ours = append(ours, filepath.Dir(ours[len(ours)-1]))
	}
	open, err := o.enters(filepath.Dir(ours[len(ours)-1]))
	if err != nil {
		return "", err
	}
	home := asked
	if open {
		for _, folder := range ours {
			if err := o.open(folder); err != nil {
				return "", err
			}
		}
	} else {
		sum := sha256.Sum256([]byte(asked))
		home = filepath.Join(sharedState, fmt.Sprintf("postgres-%x", sum[:6]))
		if err := os.MkdirAll(sharedState, 0o755); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(home, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return home, o.give(home)
}

// inside tells whether a path is below a folder.
func inside(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != "." && filepath.IsLocal(relative)
}

// enters tells whether the owner can get into a folder from the root of the file system on.
func (o owner) enters(folder string) (bool, error) {
	for {
		info, err := os.Stat(folder)
		if err != nil {
			return false, err
		}
		if !o.enter(info) {
			return false, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return true, nil
		}
		folder = above
	}
}

func (o owner) enter(info fs.FileInfo) bool {
	status, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !ok:
		return false
	case int(status.Uid) == o.uid:
		return mode&0o100 != 0
	case int(status.Gid) == o.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// open lets the owner's group, and no other user, pass through a folder that it can't enter yet.
func (o owner) open(folder string) error {
	info, err := os.Stat(folder)
	if err != nil || o.enter(info) {
		return err
	}
	if err := os.Lchown(folder, -1, o.gid); err != nil {
		return err
	}
	return os.Chmod(folder, info.Mode().Perm()&^0o070|0o010)
}
