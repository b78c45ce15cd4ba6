package temporalserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
	"ostinato.dev/ostinato/internal/temporalserver/store"
)

const testQueue = "test"

var (
	jobName   = sdktemporal.NewSearchAttributeKeyKeyword("JobName")
	cronName  = sdktemporal.NewSearchAttributeKeyKeyword("CronJobName")
	summaryOf = "a run of hello"
)

// waiting completes when it is told to.
func waiting(ctx workflow.Context) error {
	workflow.SetCurrentDetails(ctx, "waiting for the signal")
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	return workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "one moment"}).Get(ctx, nil)
}

// start runs a server until the end of the test.
func start(t testing.TB, o Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// files keeps the data of a server in a folder, none of it safe from a crash of the machine.
func files(folder string) store.Open {
	return func(ctx context.Context) (store.Databases, error) {
		return sqlite.Open(ctx, sqlite.Options{Dir: folder, Synchronous: sqlite.SynchronousOff, Logger: slog.New(slog.DiscardHandler)})
	}
}

// dial connects a client until the end of the test.
func dial(t testing.TB, server *Server) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort:  server.FrontendAddress(),
		Namespace: server.Namespace(),
		// As worker and bridge have it.
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
		Logger:            sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// work runs a worker until stopped.
func work(t *testing.T, c client.Client) (stop func()) {
	t.Helper()
	w := worker.New(c, testQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(waiting, workflow.RegisterOptions{Name: "waiting"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w.Stop
}

// eventually repeats check until it succeeds, for at most 20 seconds.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := poll(ctx, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestAServerFindsItsWorkflowsAfterARestart(t *testing.T) {
	folder := t.TempDir()
	o := Options{
		Open:             files(folder),
		Retention:        24 * time.Hour,
		SearchAttributes: map[string]enums.IndexedValueType{jobName.GetName(): enums.INDEXED_VALUE_TYPE_KEYWORD},
	}
	server := start(t, o)
	c := dial(t, server)
	stop := work(t, c)
	for _, id := range []string{"finished", "unfinished"} {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: id, TaskQueue: testQueue,
			TypedSearchAttributes: sdktemporal.NewSearchAttributes(jobName.ValueSet("hello")),
		}, "waiting")
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SignalWorkflow(t.Context(), "finished", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.GetWorkflow(t.Context(), "finished", "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	listed := func(query string, want int) func(context.Context) error {
		return func(ctx context.Context) error {
			list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query})
			if err == nil && len(list.Executions) != want {
				err = fmt.Errorf("query %s lists %d workflows, want %d", query, len(list.Executions), want)
			}
			return err
		}
	}
	eventually(t, "visibility", listed("JobName = 'hello'", 2))
	eventually(t, "visibility", listed("JobName = 'hello' AND ExecutionStatus = 'Completed'", 1))

	// The worker still polls: a server that stops first does not wait for it, or Stop says that it still runs.
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	stop()
	if log, err := os.Stat(filepath.Join(folder, "databases", "executions.db-wal")); err == nil && log.Size() > 0 {
		t.Errorf("%d bytes of write-ahead log are left", log.Size())
	}

	o.Retention = 48 * time.Hour
	o.SearchAttributes[cronName.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
	server = start(t, o)
	c = dial(t, server)
	namespace, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: server.Namespace()})
	if err != nil {
		t.Fatal(err)
	}
	if got := namespace.Config.WorkflowExecutionRetentionTtl.AsDuration(); got != o.Retention {
		t.Errorf("retention = %s, want %s", got, o.Retention)
	}
	for id, want := range map[string]enums.WorkflowExecutionStatus{
		"finished":   enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		"unfinished": enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
	} {
		found, err := c.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := found.WorkflowExecutionInfo.Status; got != want {
			t.Errorf("workflow %s is %s, want %s", id, got, want)
		}
	}
	t.Cleanup(work(t, c))
	if err := c.SignalWorkflow(t.Context(), "unfinished", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.GetWorkflow(t.Context(), "unfinished", "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "later", TaskQueue: testQueue,
		TypedSearchAttributes: sdktemporal.NewSearchAttributes(jobName.ValueSet("hello"), cronName.ValueSet("cron")),
	}, "waiting")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "visibility", listed("CronJobName = 'cron'", 1))
	eventually(t, "visibility", listed("JobName = 'hello'", 3))
}

func TestTheWebUIShowsWhatAWorkflowSaysOfItself(t *testing.T) {
	server := start(t, Options{Address: ":0", UIAddress: "127.0.0.1:0"})
	c := dial(t, server)
	t.Cleanup(work(t, c))
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "hello", TaskQueue: testQueue, StaticSummary: summaryOf}, "waiting")
	if err != nil {
		t.Fatal(err)
	}
	page := func(ctx context.Context, path, want string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.UIAddress()+path, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			return fmt.Errorf("%s: status %s, want %q in it", path, response.Status, want)
		}
		return nil
	}
	if err := page(t.Context(), "/", "<html"); err != nil {
		t.Error(err)
	}
	eventually(t, "list of workflows", func(ctx context.Context) error {
		return page(ctx, "/api/v1/namespaces/default/workflows", `"workflowId": "hello"`)
	})
	described, err := c.DescribeWorkflow(t.Context(), "hello", "")
	if err != nil {
		t.Fatal(err)
	}
	if summary, err := described.GetStaticSummary(); err != nil || summary != summaryOf {
		t.Errorf("static summary = %q, %v; want %q", summary, err, summaryOf)
	}
	if err := page(t.Context(), "/api/v1/namespaces/default/workflows/hello", "userMetadata"); err != nil {
		t.Error(err)
	}
}

func TestAServerTellsWhatItIsShortOf(t *testing.T) {
	server := start(t, Options{})
	for _, words := range []string{"It has little room.", "It has little room.", ""} {
		if err := server.TellShort(t.Context(), words); err != nil {
			t.Fatal(err)
		}
		described, err := dial(t, server).WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
		if err != nil {
			t.Fatal(err)
		}
		if told := described.GetNamespaceInfo().GetData()[names.TemporalShortData]; told != words {
			t.Errorf("the namespace says %q, want %q", told, words)
		}
	}
}

func TestServersInMemoryAreIndependent(t *testing.T) {
	first, second := start(t, Options{}), start(t, Options{Namespace: "other"})
	if _, err := dial(t, first).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "hello", TaskQueue: testQueue}, "waiting"); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, second).DescribeWorkflowExecution(t.Context(), "hello", ""); err == nil {
		t.Error("the second server knows the first one's workflow")
	}
	if first.UIAddress() != "" {
		t.Errorf("UI address = %q, want none", first.UIAddress())
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	address := taken.Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	databases, err := files(used)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = databases.Close() })
	for _, test := range []struct {
		name    string
		options Options
		want    string
	}{
		{"frontend port taken", Options{Address: address}, "frontend address " + address + " is taken"},
		{"UI port taken", Options{UIAddress: address}, "UI address " + address + " is taken"},
		{"metrics port taken", Options{MetricsAddress: address}, "metrics address " + address + " is taken"},
		{"data directory in use", Options{Open: files(used)}, "data directory " + used + " is in use by another Temporal server"},
		{"data directory cannot be made", Options{Open: files(filepath.Join(file, "data"))}, "create data directory " + filepath.Join(file, "data")},
		{"an address of another machine", Options{Address: "192.0.2.1:0"}, "listen on frontend address 192.0.2.1:"},
		{"a wrong option", Options{Retention: time.Minute}, "retention 1m0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, err := Start(t.Context(), test.options)
			if err == nil {
				t.Fatal("started", server.Stop())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %q, want %q in it", err, test.want)
			}
		})
	}
}
