package harness

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

// A process that takes more memory than its cgroup has is killed by the kernel, and what it leaves can be removed.
func TestAConfinedProcessIsKilledBeyondItsLimit(t *testing.T) {
	// The shell waits for a line, so that it is confined before it takes anything; tail keeps a line without an end.
	hungry := exec.CommandContext(t.Context(), "sh", "-c", "read line; exec tail -n 1 /dev/zero")
	stdin, err := hungry.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hungry.Start(); err != nil {
		t.Fatal(err)
	}
	cgroup, err := confine(hungry.Process.Pid, 20<<20)
	if errors.Is(err, errNoCgroups) {
		t.Log("memory is measured and not limited on this machine:", err)
		_ = hungry.Process.Kill()
		_ = hungry.Wait()
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := hungry.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the process ended with %v, want it killed", err)
	}
	if err := (&Harness{cgroups: map[int]string{hungry.Process.Pid: cgroup}}).release(); err != nil {
		t.Error(err)
	}
}
