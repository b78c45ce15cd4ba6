package toolchain

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// CanHaveNft tells whether nft, by which kube-proxy writes its rules, can be had on this machine, and if not, what is
// missing.
func CanHaveNft() (bool, string) {
	if _, err := exec.LookPath("nft"); err == nil {
		return true, ""
	}
	if _, missing, err := Locate("nft"); err == nil && len(missing) == 0 {
		return true, ""
	}
	for _, command := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(command); err != nil {
			return false, "nft is not installed, and it can be fetched into the cache by apt-get and dpkg only: install nftables"
		}
	}
	return true, ""
}

// fetchProgram makes target the system's program of the name, else that of Debian's package, with the libraries that the
// system lacks beside it.
func fetchProgram(ctx context.Context, progress io.Writer, name, debianPackage, target string) error {
	if path, err := exec.LookPath(name); err == nil {
		return link(path, target)
	}
	dir := filepath.Dir(target)
	fmt.Fprintf(progress, "tools: fetching %s into %s (nothing is installed)\n", debianPackage, dir)
	if err := fetchDebian(ctx, dir, "install", "--download-only", "--yes", "--no-install-recommends", debianPackage); err != nil {
		return err
	}
	if !isExecutable(filepath.Join(dir, "root", "usr", "sbin", name)) {
		return fmt.Errorf("the package %s holds no %s", debianPackage, name)
	}
	unfinished := target + ".unfinished"
	if err := os.WriteFile(unfinished, []byte(unpackedScript(name)), 0o755); err != nil {
		return fmt.Errorf("write the script that starts %s: %w", name, err)
	}
	if err := os.Rename(unfinished, target); err != nil {
		return fmt.Errorf("write the script that starts %s: %w", name, err)
	}
	return nil
}

// unpackedScript starts a program that was unpacked beside the script, wherever that is seen.
func unpackedScript(name string) string {
	return `#!/bin/sh
root=${0%/*}/root
export LD_LIBRARY_PATH="$(echo "$root"/usr/lib/*-linux-gnu*)"
exec "$root/usr/sbin/` + name + `" "$@"
`
}
