//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
)

// oPath opens a file only to refer to it.
const oPath = 0x200000

// layOut arranges the mount name space. All sources are opened first: a private folder may hide them.
func layOut(spec initspec.Spec) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts from the host: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	private, err := open(spec.Private)
	if err != nil {
		return err
	}
	binds, err := open(spec.Binds)
	if err != nil {
		return err
	}
	for _, b := range append(private, binds...) {
		if err := b.mount(); err != nil {
			return err
		}
	}
	number := 0
	for target, content := range spec.Files {
		source := filepath.Join("/run", "ostinato-file-"+strconv.Itoa(number))
		number++
		if err := os.WriteFile(source, []byte(content), 0o644); err != nil {
			return fmt.Errorf("put a file in place of %s: %w", target, err)
		}
		if _, err := os.Stat(target); err != nil {
			continue // a kernel without the setting
		}
		if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("put a file in place of %s: %w", target, err)
		}
	}
	return nil
}

// openBind is a bind whose source is held open.
type openBind struct {
	initspec.Bind
	file   int
	folder bool
}

func open(binds []initspec.Bind) ([]openBind, error) {
	opened := make([]openBind, 0, len(binds))
	for _, bind := range binds {
		info, err := os.Stat(bind.Source)
		if err != nil {
			return nil, fmt.Errorf("bind to %s: %w", bind.Target, err)
		}
		file, err := syscall.Open(bind.Source, oPath|syscall.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("bind %s to %s: %w", bind.Source, bind.Target, err)
		}
		opened = append(opened, openBind{Bind: bind, file: file, folder: info.IsDir()})
	}
	return opened, nil
}

func (b openBind) mount() error {
	defer syscall.Close(b.file)
	if err := b.makeTarget(); err != nil {
		return fmt.Errorf("bind %s to %s: %w", b.Source, b.Target, err)
	}
	source := "/proc/self/fd/" + strconv.Itoa(b.file)
	if err := syscall.Mount(source, b.Target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", b.Source, b.Target, err)
	}
	return nil
}

func (b openBind) makeTarget() error {
	if _, err := os.Stat(b.Target); err == nil {
		return nil
	}
	if b.folder {
		return os.MkdirAll(b.Target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(b.Target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(b.Target, nil, 0o644)
}
