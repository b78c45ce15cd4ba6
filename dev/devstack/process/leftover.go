package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"
)

// EndLeftover kills the process that a PID file remembers, if it still runs the executable: what a parent that was
// killed left behind, where the system does not end children with their parent. It waits until the process is gone.
func EndLeftover(ctx context.Context, pidFile, executable string) error {
	data, err := os.ReadFile(pidFile)
	if errors.Is(err, fs.ErrNotExist) || executable == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read PID file: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 {
		return nil // cut off by a crash of the machine, which ended the process too
	}
	if !runs(commandLine(pid), executable) {
		return nil
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill leftover %s (pid %d): %w", filepath.Base(executable), pid, err)
	}
	gone := func(context.Context) (bool, error) { return !runs(commandLine(pid), executable), nil }
	if err := wait.PollUntilContextCancel(ctx, pollInterval, true, gone); err != nil {
		return fmt.Errorf("wait for the end of leftover %s (pid %d): %w", filepath.Base(executable), pid, err)
	}
	return nil
}

// runs tells whether a command line is that of the executable.
func runs(commandLine, executable string) bool {
	return commandLine == executable || strings.HasPrefix(commandLine, executable+" ")
}

func writePID(file string, pid int) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write PID file: %w", err)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
		return fmt.Errorf("write PID file: %w", err)
	}
	return nil
}
