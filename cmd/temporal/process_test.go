package main

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
const asCommand = "TEMPORAL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// deadline bounds every wait in these tests.
const deadline = 30 * time.Second

// process is a server.
type process struct {
	command *exec.Cmd
	health  string
	exited  chan struct{}
	stderr  *bytes.Buffer
}

// launch starts a server in a folder where it may write nothing but its data, and returns at once.
func launch(t *testing.T, arguments ...string) *process {
	t.Helper()
	health := freeAddress(t)
	p := &process{
		command: exec.Command(os.Args[0], append([]string{"--health-address=" + health, "--inner-ports=0,0,0,0"}, arguments...)...),
		health:  "http://" + health, exited: make(chan struct{}), stderr: &bytes.Buffer{},
	}
	p.command.Env = append(os.Environ(), asCommand+"=1")
	p.command.Stderr = p.stderr
	err := p.command.Start()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.command.Wait()
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.exited
	})
	return p
}

// ready waits until the server says that it is.
func (p *process) ready(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(50 * time.Millisecond) {
		status := p.probe("/readyz")
		if status == http.StatusOK {
			return
		}
		select {
		case <-p.exited:
			t.Fatalf("it ended; stderr: %s", p.stderr)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("not ready within %s (status %d)", deadline, status)
		}
	}
}

// probe returns the status of an answer, 0 without one.
func (p *process) probe(path string) int {
	response, err := http.Get(p.health + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
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
	data, frontend, ui := t.TempDir(), freeAddress(t), freeAddress(t)
	arguments := []string{"--data-dir=" + data, "--address=" + frontend, "--ui-address=" + ui}
	// Whatever it wrote beside its data would be here.
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)

	first := launch(t, arguments...)
	first.ready(t)
	if status := first.probe("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answers %d", status)
	}
	page, err := http.Get("http://" + ui)
	if err != nil {
		t.Fatal(err)
	}
	_ = page.Body.Close()
	if page.StatusCode != http.StatusOK {
		t.Errorf("the Web UI answers %s", page.Status)
	}
	c, err := client.Dial(client.Options{
		HostPort: frontend,
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
	second.ready(t)
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

	backup := filepath.Join(t.TempDir(), "backup")
	copied := launch(t, "--data-dir="+data, "--backup-to="+backup)
	if status := copied.status(t); status != 0 {
		t.Errorf("exit status of a backup = %d; stderr: %s", status, copied.stderr)
	}
	for _, file := range []string{"executions.db", "visibility.db"} {
		if info, err := os.Stat(filepath.Join(backup, file)); err != nil || info.Size() == 0 {
			t.Errorf("the backup's %s: %v", file, err)
		}
	}

	third := launch(t, "--data-dir=:memory:", "--address="+frontend, "--ui-address=")
	if status := third.status(t); status != 1 {
		t.Errorf("exit status on a taken port = %d, want 1", status)
	}
	if want := "frontend address " + frontend + " is taken"; !strings.Contains(third.stderr.String(), want) {
		t.Errorf("stderr = %q, want %q in it", third.stderr, want)
	}
	fourth := launch(t, "--data-dir="+data, "--address="+freeAddress(t), "--ui-address=")
	if status := fourth.status(t); status != 1 || !strings.Contains(fourth.stderr.String(), "is in use by another Temporal server") {
		t.Errorf("exit status on data in use = %d, want 1; stderr = %q", status, fourth.stderr)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it wrote %v for temporary files (%v)", left, err)
	}

	if status := second.end(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status on SIGTERM = %d, want 0; stderr: %s", status, second.stderr)
	}
}

func TestAWrongFlagIsAUsageError(t *testing.T) {
	p := launch(t, "--address", "7233")
	if status := p.status(t); status != 2 {
		t.Errorf("exit status = %d, want 2", status)
	}
}

// The lines of a server at a level would drown ours.
func TestTheServersOwnLinesHaveTheNextLevel(t *testing.T) {
	for level, want := range map[slog.Level]string{slog.LevelDebug: "info", slog.LevelInfo: "warn", slog.LevelWarn: "error", slog.LevelError: "error"} {
		if got := serverLevel(level); got != want {
			t.Errorf("at %s the server's level is %s, want %s", level, got, want)
		}
	}
}

// freeAddress is one at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
