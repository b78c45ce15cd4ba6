package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsNoBusyBoxIsRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "busybox")
	executable(t, script)
	if err := checkBusyBox(t.Context(), script); err == nil {
		t.Error("a script was taken for BusyBox")
	}
	if _, err := os.Stat("/bin/sh"); err == nil {
		if err := checkBusyBox(t.Context(), "/bin/sh"); err == nil {
			t.Error("the system's shell was taken for BusyBox")
		}
	}
}

func TestAMissingBusyBoxIsSaidPlainly(t *testing.T) {
	t.Setenv("OSTINATO_CACHE", t.TempDir())
	t.Setenv("PATH", "")
	_, err := BusyBox(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "busybox-static") {
		t.Fatalf("got %v, want it to say what to install", err)
	}
}

// The trial is of what every POSIX shell has, but for [[ and RANDOM, which BusyBox shares with bash.
func TestTheTrialTellsShellsApart(t *testing.T) {
	for shell, want := range map[string]bool{"bash": true, "dash": false} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		command := exec.Command(path, "-c", busyBoxTrial)
		command.Run() // the exit code says it
		if got := command.ProcessState.ExitCode() == 3; got != want {
			t.Errorf("%s ended with exit code %d", shell, command.ProcessState.ExitCode())
		}
	}
}
