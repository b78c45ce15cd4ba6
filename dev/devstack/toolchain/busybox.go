package toolchain

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
)

// busyBoxPackage is Debian's package of a BusyBox that needs nothing but the kernel.
const busyBoxPackage = "busybox-static"

// BusyBox returns the path of BusyBox itself, static, with the shell that upstream's end-to-end suite writes its scripts
// for: the one on PATH where it is such a one, else Debian's, fetched into the cache. It is no Go program, and so the one
// executable here that nothing builds; the node's own program of that name has few applets and traps no signals.
func BusyBox(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	if path, err := exec.LookPath("busybox"); err == nil && checkBusyBox(ctx, path) == nil {
		return path, nil
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, busyBoxPackage)
	unlock, err := lock(ctx, filepath.Join(dir, ".lock"), func() {
		fmt.Fprintf(progress, "tools: waiting for another program that is fetching %s\n", busyBoxPackage)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if path := unpackedBusyBox(dir); path != "" {
		return path, checkBusyBox(ctx, path)
	}
	for _, command := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(command); err != nil {
			return "", errors.New("a static BusyBox is needed: there is none on PATH, and it can be fetched into the cache by apt-get and dpkg only: install one (Debian's package is busybox-static)")
		}
	}
	fmt.Fprintf(progress, "tools: fetching %s into %s (nothing is installed)\n", busyBoxPackage, dir)
	if err := fetchDebianPackage(ctx, dir, busyBoxPackage); err != nil {
		return "", fmt.Errorf("a static BusyBox is needed, there is none on PATH, and Debian's cannot be fetched: %w", err)
	}
	path := unpackedBusyBox(dir)
	if path == "" {
		return "", fmt.Errorf("the package %s holds no busybox", busyBoxPackage)
	}
	return path, checkBusyBox(ctx, path)
}

// unpackedBusyBox looks for the executable where Debian's releases have it.
func unpackedBusyBox(dir string) string {
	for _, folder := range []string{"bin", "usr/bin"} {
		if path := filepath.Join(dir, "root", folder, "busybox"); isExecutable(path) {
			return path
		}
	}
	return ""
}

// busyBoxTrial ends with exit code 3 where the shell and its applets are those that the suite's scripts need.
const busyBoxTrial = `trap : TERM; n=0; if [[ -r / ]]; then n=$(( 7 / 4 )); fi; test -n "$RANDOM" && exit $(expr $n + 2)`

// checkBusyBox tells what keeps an executable from being the program of an image.
func checkBusyBox(ctx context.Context, path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("check BusyBox: %w", err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("%s is not static", path)
	}
	var ended *exec.ExitError
	err = exec.CommandContext(ctx, path, "sh", "-c", busyBoxTrial).Run()
	if !errors.As(err, &ended) || ended.ExitCode() != 3 {
		return fmt.Errorf("the shell of %s does not take the suite's scripts (%v)", path, err)
	}
	return nil
}
