package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// build is where to build from and into.
type build struct {
	root, cache string
}

// tool builds one executable under a name of its own and then renames it, so that half of one is never run.
func (b build) tool(ctx context.Context, progress io.Writer, name string, t tool, target string) error {
	if t.debian != "" {
		return fetchProgram(ctx, progress, name, t.debian, target)
	}
	goCommand, err := findGo()
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	environment := []string{"GOWORK=off", "GOFLAGS=", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "CGO_ENABLED=0"}
	if t.seccomp {
		more, err := b.seccompEnvironment(ctx, progress)
		if err != nil {
			if path := runcWithSeccomp(ctx); path != "" {
				fmt.Fprintf(progress, "tools: using %s: %v\n", path, err)
				return link(path, target)
			}
			return fmt.Errorf("build %s: %w", name, err)
		}
		environment = append(environment, more...)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	unfinished := fmt.Sprintf("%s.%d.unfinished", target, os.Getpid())
	defer os.Remove(unfinished)
	command := exec.CommandContext(ctx, goCommand, arguments(t, unfinished)...)
	command.Dir = filepath.Join(b.root, t.module)
	command.Env = append(os.Environ(), environment...)
	// The go command starts compilers: an interrupt has to reach them all.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", name, ctx.Err())
		}
		return fmt.Errorf("build %s: go %s in %s: %w\n%s", name, arguments(t, "")[0], t.module, err, lastLines(output.String(), 30))
	}
	if err := os.Rename(unfinished, target); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	return nil
}

// arguments returns the arguments of the go command that builds a tool.
func arguments(t tool, output string) []string {
	arguments := []string{"build"}
	if t.test {
		arguments = []string{"test", "-c", "-vet=off"}
	}
	arguments = append(arguments, "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", t.ldflags)
	if t.tags != "" {
		arguments = append(arguments, "-tags", t.tags)
	}
	return append(arguments, "-o", output, t.pkg)
}

// findGo returns the go command: the one on PATH, else the one this program was built by.
func findGo() (string, error) {
	path, err := exec.LookPath("go")
	if err == nil {
		return path, nil
	}
	if root := os.Getenv("GOROOT"); root != "" {
		if path := filepath.Join(root, "bin", "go"); isExecutable(path) {
			return path, nil
		}
	}
	return "", errors.New("the go command is not on PATH; everything the development stack runs is built by it: install Go (https://go.dev/dl) and try again")
}

// link makes target a symbolic link to an executable of the system.
func link(path, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("link to %s: %w", path, err)
	}
	if err := os.Symlink(path, target); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("link to %s: %w", path, err)
	}
	return nil
}

func lastLines(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
