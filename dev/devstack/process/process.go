// Package process runs the servers of the development stack as child processes that never outlive their parent.
//
// Every child is the leader of its own process group, so that a Ctrl-C at the terminal reaches the parent only and
// the stack is stopped in order. On Linux the kernel kills a child when its parent dies, kill -9 included.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tailLines is how many lines of a process's log go into an error message.
const tailLines = 12

// Spec says what to run.
type Spec struct {
	// Name is what messages call the process.
	Name string
	// Path is the executable, absolute.
	Path string
	Args []string
	// Env is added to the parent's environment. Variables of the parent whose names begin with one of Without are left out.
	Env, Without []string
	// Dir is the working directory, the parent's when empty.
	Dir string
	// LogFile receives standard output and standard error, appended. It and its folder are made for this user alone if they
	// are missing. Empty discards them.
	LogFile string
	// PIDFile remembers the process id while the process runs, for EndLeftover at the next start. Empty remembers nothing.
	PIDFile string
	// SysProcAttr, where set, is the starting point of the child's attributes (name spaces, for instance).
	SysProcAttr *syscall.SysProcAttr
}

// Process is a started child.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts the process and returns at once. The context bounds the start only: cancelling it later does not
// stop the process, since a stack has to be stopped in order. Call Stop.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	if len(spec.Env) > 0 || len(spec.Without) > 0 {
		cmd.Env = append(Environment(spec.Without...), spec.Env...)
	}
	cmd.SysProcAttr = attributes(spec.SysProcAttr)
	if spec.LogFile != "" {
		if err := os.MkdirAll(filepath.Dir(spec.LogFile), 0o700); err != nil {
			return nil, fmt.Errorf("start %s: log folder: %w", spec.Name, err)
		}
		log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("start %s: log file: %w", spec.Name, err)
		}
		defer log.Close() // the child holds its own descriptor
		cmd.Stdout, cmd.Stderr = log, log
	}
	if err := startOnOwnThread(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	if err := writePID(spec.PIDFile, p.PID()); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go func() {
		p.err = cmd.Wait()
		if spec.PIDFile != "" {
			os.Remove(spec.PIDFile)
		}
		close(p.done)
	}()
	return p, nil
}

// Environment returns this program's environment, without the variables whose names begin with one of the prefixes.
func Environment(without ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(without, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// Name returns the name messages call the process by.
func (p *Process) Name() string { return p.spec.Name }

// PID returns the process id, which stays the same after the process ended.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogFile returns the path of the process's log.
func (p *Process) LogFile() string { return p.spec.LogFile }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the process and returns how it ended: nil for exit code 0, else an error that carries the
// last lines of its log.
func (p *Process) Wait() error {
	<-p.done
	return p.Err()
}

// Err returns nil while the process runs or after it ended with exit code 0, else how it ended, with the last lines of
// its log.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.err == nil {
		return nil
	}
	return p.Failure(fmt.Errorf("%s (pid %d) ended: %w", p.spec.Name, p.PID(), p.err))
}

// Failure adds the last lines of the process's log to err.
func (p *Process) Failure(err error) error {
	if tail := p.LogTail(tailLines); tail != "" {
		return fmt.Errorf("%w\nlast lines of %s:\n%s", err, p.spec.LogFile, tail)
	}
	return err
}

// LogTail returns at most the last lines of the log, indented by two spaces; "" where there is none.
func (p *Process) LogTail(lines int) string { return Tail(p.spec.LogFile, lines) }

// Signal sends a signal to the process alone. A process that has ended is no error.
func (p *Process) Signal(signal syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s to %s (pid %d): %w", signal, p.spec.Name, p.PID(), err)
	}
	return nil
}

// Stop asks the process to end (SIGTERM), waits up to grace, then kills its process group and waits for its end. How
// it ended is not an error: it was asked to. Stopping what has ended does nothing.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return p.Kill()
	}
}

// Kill kills the process group (SIGKILL) and waits until the process is gone.
func (p *Process) Kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(-p.PID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s (pid %d): %w", p.spec.Name, p.PID(), err)
	}
	<-p.done
	return nil
}

// Tail returns at most the last lines of a file, each indented by two spaces; "" where it cannot be read.
func Tail(path string, lines int) string {
	const window = 32 << 10
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	size, err := file.Seek(0, 2)
	if err != nil {
		return ""
	}
	start := max(0, size-window)
	buffer := make([]byte, size-start)
	n, err := file.ReadAt(buffer, start)
	if err != nil && n == 0 {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(buffer[:n]), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	for i, line := range all {
		all[i] = "  " + line
	}
	return strings.TrimRight(strings.Join(all, "\n"), " ")
}
