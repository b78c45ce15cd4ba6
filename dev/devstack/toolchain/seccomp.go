package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// libseccomp is where the C library that runc needs was found.
type libseccomp struct {
	// include is the folder of its headers, "" for the compiler's own folders.
	include string
	// library is the static library, "" for -lseccomp.
	library string
}

// flags returns the compiler's and the linker's flags, as pkg-config would print them.
func (l libseccomp) flags() (compile, link string) {
	compile, link = "", "-lseccomp"
	if l.include != "" {
		compile = "-I" + l.include
	}
	if l.library != "" {
		link = l.library
	}
	return compile, link
}

// seccompEnvironment returns the environment that builds runc: a C compiler, and a pkg-config of our own that answers
// for libseccomp, so that neither pkg-config nor the library has to be installed.
func (b build) seccompEnvironment(ctx context.Context, progress io.Writer) ([]string, error) {
	if cCompiler() == "" {
		return nil, errors.New("runc needs a C compiler, and none of $CC, cc, gcc, clang is there")
	}
	found, err := b.findLibseccomp(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("runc needs libseccomp: %w", err)
	}
	script := filepath.Join(b.cache, "libseccomp", "pkg-config")
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		return nil, fmt.Errorf("write pkg-config's stand-in: %w", err)
	}
	if err := os.WriteFile(script, []byte(pkgConfigScript(found)), 0o755); err != nil {
		return nil, fmt.Errorf("write pkg-config's stand-in: %w", err)
	}
	return []string{"CGO_ENABLED=1", "CC=" + cCompiler(), "PKG_CONFIG=" + script}, nil
}

// pkgConfigScript answers as pkg-config does for the one library.
func pkgConfigScript(found libseccomp) string {
	compile, link := found.flags()
	return "#!/bin/sh\ncase \" $* \" in\n*\" --libs \"*) echo '" + link + "' ;;\n*\" --cflags \"*) echo '" + compile + "' ;;\nesac\n"
}

// findLibseccomp uses the system's library where its header is installed, else fetches Debian's package into the cache.
func (b build) findLibseccomp(ctx context.Context, progress io.Writer) (libseccomp, error) {
	if _, err := os.Stat("/usr/include/seccomp.h"); err == nil {
		return libseccomp{}, nil
	}
	dir := filepath.Join(b.cache, "libseccomp")
	if found, ok := unpackedLibseccomp(filepath.Join(dir, "root")); ok {
		return found, nil
	}
	for _, command := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(command); err != nil {
			return libseccomp{}, errors.New("its header is not installed, and it can be fetched into the cache by apt-get and dpkg only: install libseccomp's development package")
		}
	}
	fmt.Fprintf(progress, "tools: fetching libseccomp-dev into %s (nothing is installed)\n", dir)
	if err := fetchDebianPackage(ctx, dir, "libseccomp-dev"); err != nil {
		return libseccomp{}, err
	}
	found, ok := unpackedLibseccomp(filepath.Join(dir, "root"))
	if !ok {
		return libseccomp{}, errors.New("the package libseccomp-dev holds no seccomp.h and libseccomp.a")
	}
	return found, nil
}

// unpackedLibseccomp looks for header and static library under the folder a package was unpacked to.
func unpackedLibseccomp(root string) (libseccomp, bool) {
	include := filepath.Join(root, "usr", "include")
	if _, err := os.Stat(filepath.Join(include, "seccomp.h")); err != nil {
		return libseccomp{}, false
	}
	for _, pattern := range []string{"usr/lib/libseccomp.a", "usr/lib/*/libseccomp.a"} {
		if matches, err := filepath.Glob(filepath.Join(root, pattern)); err == nil && len(matches) > 0 {
			return libseccomp{include: include, library: matches[0]}, true
		}
	}
	return libseccomp{}, false
}

// cCompiler returns the C compiler's path, "" where there is none.
func cCompiler() string {
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// runcWithSeccomp returns the path of the system's runc, "" where there is none that was built with seccomp.
func runcWithSeccomp(ctx context.Context) string {
	path, err := exec.LookPath("runc")
	if err != nil {
		return ""
	}
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil || !strings.Contains(string(output), "libseccomp") {
		return ""
	}
	return path
}

// CanBuildRunc tells whether runc can be had on this machine, and if not, what is missing.
func CanBuildRunc(ctx context.Context) (bool, string) {
	if runcWithSeccomp(ctx) != "" {
		return true, ""
	}
	if cCompiler() == "" {
		return false, "runc has to be built, and there is no C compiler"
	}
	if _, err := os.Stat("/usr/include/seccomp.h"); err == nil {
		return true, ""
	}
	if cache, err := CacheDir(); err == nil {
		if _, ok := unpackedLibseccomp(filepath.Join(cache, "libseccomp", "root")); ok {
			return true, ""
		}
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return false, "runc has to be built, and libseccomp's header is neither installed nor can it be fetched (no apt-get)"
	}
	return true, ""
}
