package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
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

// programs builds the executables of names, which one go command can build, under names of their own and then renames them, so that
// half of one is never run.
func (b build) programs(ctx context.Context, progress io.Writer, names []string, wanted map[string]tool, binaries Binaries) error {
	t, target, label := wanted[names[0]], binaries[names[0]], strings.Join(names, ", ")
	if t.debian != "" {
		return fetchProgram(ctx, progress, label, t.debian, target)
	}
	goCommand, err := findGo()
	if err != nil {
		return fmt.Errorf("build %s: %w", label, err)
	}
	environment := []string{"GOWORK=off", "GOFLAGS=", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "CGO_ENABLED=0"}
	if t.seccomp {
		more, err := b.seccompEnvironment(ctx, progress)
		if err != nil {
			if path := runcWithSeccomp(ctx); path != "" {
				fmt.Fprintf(progress, "tools: using %s: %v\n", path, err)
				return link(path, target)
			}
			return fmt.Errorf("build %s: %w", label, err)
		}
		environment = append(environment, more...)
	}
	unfinished := filepath.Join(filepath.Dir(target), fmt.Sprintf("unfinished.%d", os.Getpid()))
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		return fmt.Errorf("build %s: %w", label, err)
	}
	defer os.RemoveAll(unfinished)
	command := exec.CommandContext(ctx, goCommand, arguments(names, wanted, unfinished)...)
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
			return fmt.Errorf("build %s: %w", label, ctx.Err())
		}
		return fmt.Errorf("build %s: go %s in %s: %w\n%s", label, command.Args[1], t.module, err, lastLines(output.String(), 30))
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(unfinished, name), binaries[name]); err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
	}
	return nil
}

// FetchModules downloads, while something else is compiled, the modules of the tools of names that are to be built and then those of
// packages of this repository, one after another. If no tool is to be built, there is no reason to. Who builds them says what is wrong.
func FetchModules(ctx context.Context, names []string, packages ...string) {
	_, missing, err := Locate(names...)
	if err != nil || len(missing) == 0 {
		return
	}
	root, err := RepositoryRoot()
	if err != nil {
		return
	}
	goCommand, err := findGo()
	if err != nil {
		return
	}
	fetch := func(module string, packages ...string) {
		command := exec.CommandContext(ctx, goCommand, append([]string{"list", "-mod=readonly", "-deps"}, packages...)...)
		command.Dir, command.Env = filepath.Join(root, module), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		_ = command.Run()
	}
	for _, group := range together(missing, tools) {
		var needed []string
		for _, name := range group {
			needed = append(needed, tools[name].pkg)
		}
		fetch(tools[group[0]].module, needed...)
	}
	fetch(".", packages...)
}

// arguments returns the arguments of the go command that builds the executables of names into a folder.
func arguments(names []string, wanted map[string]tool, folder string) []string {
	t := wanted[names[0]]
	arguments := []string{"build"}
	if t.test {
		arguments = []string{"test", "-c", "-vet=off"}
	}
	arguments = append(arguments, "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", t.ldflags)
	if t.tags != "" {
		arguments = append(arguments, "-tags", t.tags)
	}
	output := filepath.Join(folder, names[0])
	if len(names) > 1 {
		output = folder + string(filepath.Separator)
	}
	arguments = append(arguments, "-o", output)
	for _, name := range names {
		arguments = append(arguments, wanted[name].pkg)
	}
	return arguments
}

// together groups names, in their order, by what one go command can build: it compiles what the programs share once, and links them beside
// each other. The go command names several executables by their packages.
func together(names []string, wanted map[string]tool) (groups [][]string) {
	first := map[string]int{}
	for _, name := range names {
		t := wanted[name]
		flags := fmt.Sprintf("%s %q %q", t.module, t.tags, t.ldflags)
		group, ok := first[flags]
		if alone := path.Base(t.pkg) != name || t.test || t.seccomp || t.debian != ""; alone {
			groups = append(groups, []string{name})
		} else if ok {
			groups[group] = append(groups[group], name)
		} else {
			first[flags] = len(groups)
			groups = append(groups, []string{name})
		}
	}
	return groups
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
