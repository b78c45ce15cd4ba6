package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// asCommand makes the test binary be the command.
const asCommand = "DEVSERVER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// deadline bounds every wait in these tests.
const deadline = 30 * time.Second

// process is a devserver.
type process struct {
	command *exec.Cmd
	ready   string
	exited  chan struct{}
	stderr  *bytes.Buffer
}

// launch starts a devserver and waits for its first line, or for its end.
func launch(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(os.Args[0], arguments...), exited: make(chan struct{}), stderr: &bytes.Buffer{}}
	p.command.Env = append(os.Environ(), asCommand+"=1")
	p.command.Stderr = p.stderr
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan string, 1)
	go func() {
		defer close(p.exited)
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadString('\n')
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, reader)
		_ = p.command.Wait()
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.exited
	})
	select {
	case p.ready = <-first:
	case <-time.After(deadline):
		t.Fatalf("no line within %s", deadline)
	}
	return p
}

// end sends a signal, waits for the end and returns the exit status.
func (p *process) end(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return p.status(t)
}

// status waits for the end and returns the exit status.
func (p *process) status(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(deadline):
		t.Fatalf("has not ended within %s", deadline)
	}
	return p.command.ProcessState.ExitCode()
}

func TestAKilledServerGoesOn(t *testing.T) {
	frontend, ui := freePorts(t)
	arguments := []string{"--data-dir", t.TempDir(), fmt.Sprintf("--frontend-port=%d", frontend), fmt.Sprintf("--ui-port=%d", ui)}
	wantReady := fmt.Sprintf("ready frontend=127.0.0.1:%d ui=http://127.0.0.1:%d", frontend, ui)

	first := launch(t, arguments...)
	if first.ready != wantReady {
		t.Fatalf("first line = %q, want %q; stderr: %s", first.ready, wantReady, first.stderr)
	}
	c, err := client.Dial(client.Options{
		HostPort: fmt.Sprintf("127.0.0.1:%d", frontend),
		Logger:   log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	started := make(chan struct{})
	var once sync.Once
	w := worker.New(c, "test", worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		if !workflow.IsReplaying(ctx) {
			once.Do(func() { close(started) })
		}
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
		return nil
	}, workflow.RegisterOptions{Name: "waiting"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "waiting", TaskQueue: "test"}, "waiting")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-started:
	case <-time.After(deadline):
		t.Fatalf("no workflow task within %s", deadline)
	}
	first.end(t, syscall.SIGKILL)

	second := launch(t, arguments...)
	if second.ready != wantReady {
		t.Fatalf("first line after the kill = %q, want %q; stderr: %s", second.ready, wantReady, second.stderr)
	}
	found, err := c.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	if got := found.WorkflowExecutionInfo.Status; got != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("workflow is %s after the kill, want Running", got)
	}
	if err := c.SignalWorkflow(t.Context(), run.GetID(), run.GetRunID(), "go", nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(t.Context(), nil); err != nil {
		t.Error(err)
	}

	third := launch(t, "--frontend-port", fmt.Sprint(frontend))
	if status := third.status(t); status != 1 {
		t.Errorf("exit status on a taken port = %d, want 1", status)
	}
	if want := fmt.Sprintf("frontend address 127.0.0.1:%d is taken", frontend); !strings.Contains(third.stderr.String(), want) {
		t.Errorf("stderr = %q, want %q in it", third.stderr, want)
	}

	if status := second.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status on SIGTERM = %d, want 0; stderr: %s", status, second.stderr)
	}
}

func TestAWrongFlagIsAUsageError(t *testing.T) {
	p := launch(t, "--frontend-port", "none")
	if status := p.status(t); status != 2 {
		t.Errorf("exit status = %d, want 2", status)
	}
}

// freePorts are two ports that nothing listens on.
func freePorts(t *testing.T) (first, second int) {
	t.Helper()
	var found []int
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		found = append(found, listener.Addr().(*net.TCPAddr).Port)
	}
	return found[0], found[1]
}
