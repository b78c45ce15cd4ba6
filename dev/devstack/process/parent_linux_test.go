package process_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// parentVariable makes the test program the parent in TestAChildDiesWithItsParent.
const parentVariable = "OSTINATO_PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		beParent()
	}
	os.Exit(m.Run())
}

// beParent starts a child, tells its id, and lives until it is killed.
func beParent() {
	started := make(chan *process.Process)
	go func() {
		// The thread that asks for the child ends; the child has to stay.
		runtime.LockOSThread()
		p, err := process.Start(context.Background(), process.Spec{Name: "child", Path: "/bin/sleep", Args: []string{"300"}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		started <- p
	}()
	p := <-started
	fmt.Println(p.PID())
	<-p.Done()
	os.Exit(1)
}

func TestAChildDiesWithItsParent(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(program)
	parent.Env = append(os.Environ(), parentVariable+"=1")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent says %q", line)
	}
	if !isAlive(child) {
		t.Fatalf("child %d is not there", child)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Fatal("the parent was not killed")
	}
	for ctx := bounded(t); isAlive(child); {
		if ctx.Err() != nil {
			t.Fatalf("child %d outlives its parent", child)
		}
	}
}
