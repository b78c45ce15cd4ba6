package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Binaries maps the name of a tool to the absolute path of its executable.
type Binaries map[string]string

// Ensure returns the executables of the names, building what the cache does not hold. What it builds, and how long
// that takes, it tells on progress (nil: nowhere). Calls in several programs at once wait for each other; a call that
// finds everything there takes milliseconds and needs no go command.
func Ensure(ctx context.Context, progress io.Writer, names ...string) (Binaries, error) {
	if progress == nil {
		progress = io.Discard
	}
	binaries, missing, err := Locate(names...)
	if err != nil || len(missing) == 0 {
		return binaries, err
	}
	root, err := RepositoryRoot()
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(cache, "tools", ".lock"), func() {
		fmt.Fprintf(progress, "tools: waiting for another program that is building into %s\n", cache)
	})
	if err != nil {
		return nil, err
	}
	defer unlock()
	missing = slices.DeleteFunc(missing, func(name string) bool { return isExecutable(binaries[name]) })
	return binaries, buildAll(ctx, progress, build{root: root, cache: cache}, missing, tools, binaries)
}

// Locate returns where the executables of the names are or will be, and the names of those that are to be built.
func Locate(names ...string) (binaries Binaries, missing []string, err error) {
	wanted, err := lookUp(names)
	if err != nil {
		return nil, nil, err
	}
	root, err := RepositoryRoot()
	if err != nil {
		return nil, nil, err
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, nil, err
	}
	binaries = Binaries{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		t := wanted[name]
		if t.linux && runtime.GOOS != "linux" {
			return nil, nil, fmt.Errorf("%s exists on Linux only", name)
		}
		if path := asset(os.Getenv("KUBEBUILDER_ASSETS"), name, t); path != "" {
			binaries[name] = path
			continue
		}
		dir, err := folder(root, cache, platform(), name, t)
		if err != nil {
			return nil, nil, err
		}
		binaries[name] = filepath.Join(dir, name)
		if isExecutable(binaries[name]) {
			continue
		}
		if path := onPath(name, t); path != "" {
			binaries[name] = path
			continue
		}
		missing = append(missing, name)
	}
	return binaries, missing, nil
}

// buildAll runs one go command after the other: each uses every core there is.
func buildAll(ctx context.Context, progress io.Writer, b build, missing []string, wanted map[string]tool, binaries Binaries) error {
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(progress, "tools: building %d from their Go modules into %s: %s\n", len(missing), b.cache, strings.Join(missing, ", "))
	built := 0
	for _, names := range together(missing, wanted) {
		built += len(names)
		label := fmt.Sprintf("tools: [%d/%d] %s", built, len(missing), strings.Join(names, ", "))
		note := ""
		if told := wanted[names[0]].note; told != "" {
			note = " (" + told + ")"
		}
		fmt.Fprintf(progress, "%s%s\n", label, note)
		started := time.Now()
		stop := every(15*time.Second, func() {
			fmt.Fprintf(progress, "%s: still building, %s%s\n", label, time.Since(started).Round(time.Second), note)
		})
		err := b.programs(ctx, progress, names, wanted, binaries)
		stop()
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "%s: built in %s\n", label, time.Since(started).Round(time.Second))
	}
	return nil
}

// asset returns the path of the tool in a folder of ready executables, "" where there is none.
func asset(dir, name string, t tool) string {
	if dir == "" || t.release == "" {
		return ""
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil || !isExecutable(path) {
		return ""
	}
	return path
}

// onPath returns the path of the tool on PATH if it is of the release that is pinned, "" where there is none.
func onPath(name string, t tool) string {
	path, err := exec.LookPath(name)
	if err != nil || t.release == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil || !bytes.Contains(version, []byte(t.release)) {
		return ""
	}
	return path
}

// versionPatience is how long an executable on PATH may take to say which it is.
const versionPatience = 10 * time.Second

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// every calls tell at the interval until the returned function is called, which waits for a call under way.
func every(interval time.Duration, tell func()) (stop func()) {
	ticker := time.NewTicker(interval)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				tell()
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(quit)
		<-done
	}
}
