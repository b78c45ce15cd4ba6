package upstream

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/config"
)

var (
	only = flag.String("upstream.run", "", "regular expression of the functions to run, all by default")
	runs = flag.Int("upstream.runs", 1, "how often")
	kill = flag.Bool("upstream.kill", false, "kill worker and bridge (SIGKILL) wherever the suite stops its controller")
	logs = flag.String("upstream.logs", "", "folder for the logs, which then stay; by default they stay where something failed")
)

// leftOut are functions of a feature that Ostinato does not have (docs/compat.md), and one that looks into the built-in controller.
const leftOut = "^(TestJobGang|TestJobDelegatedPodGroup|TestJobRecreationClearsPodExpectations)"

// suiteBound is how long one run of the suite may take.
const suiteBound = 40 * time.Minute

// The edits fit the suite of the release that is pinned.
func TestTheSuiteCanBeRewritten(t *testing.T) {
	if _, err := rewrite(suiteSource(t)); err != nil {
		t.Error(err)
	}
}

func TestUpstreamsSuite(t *testing.T) {
	if !harness.Trial() {
		t.Skip("make trial-upstream-job runs it")
	}
	folder := logFolder(t)
	suite := buildSuite(t, t.TempDir())
	tools, err := toolchain.Ensure(t.Context(), os.Stderr, "etcd")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := devstack.BuildPrograms(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	temporal := startTemporal(t, programs.Temporal, folder)
	for run := range *runs {
		t.Run(fmt.Sprintf("run %d", run+1), func(t *testing.T) {
			folder := filepath.Join(folder, strconv.Itoa(run+1))
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			controllers := &controllers{
				programs: programs, temporal: temporal, folder: folder, kill: *kill,
				running: map[string]*pair{}, ended: map[string]float64{},
			}
			runSuite(t, suite, tools["etcd"], folder, controllers)
		})
	}
}

// logFolder returns a folder that stays if the test fails.
func logFolder(t *testing.T) string {
	t.Helper()
	if *logs != "" {
		absolute, err := filepath.Abs(*logs)
		if err == nil {
			err = os.MkdirAll(absolute, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		return absolute
	}
	folder, err := os.MkdirTemp("", "ostinato-upstream-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs are in %s", folder)
			return
		}
		os.RemoveAll(folder)
	})
	return folder
}

// startTemporal returns the address of a Temporal server that all runs share. Each API server has its own workflows in it.
func startTemporal(t *testing.T, program, folder string) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	inner := make([]string, 4)
	for i := range inner {
		free, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		inner[i] = strconv.Itoa(free)
	}
	server, err := process.Start(t.Context(), process.Spec{
		Name: "temporal", Path: program, LogFile: filepath.Join(folder, "temporal.log"),
		Args: []string{
			fmt.Sprintf("--address=127.0.0.1:%d", port), "--ui-address=", "--inner-ports=" + strings.Join(inner, ","), "--data-dir=" + config.InMemory,
			"--health-address=", "--log-level=warn",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(stopGrace); err != nil {
			t.Error(err)
		}
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Prompt)
	defer cancel()
	if err := server.WaitReady(ctx, func(ctx context.Context) error { return hasNamespace(ctx, address) }); err != nil {
		t.Fatal(err)
	}
	return address
}

func hasNamespace(ctx context.Context, address string) error {
	temporal, err := client.DialContext(ctx, client.Options{HostPort: address})
	if err != nil {
		return err
	}
	defer temporal.Close()
	_, err = temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	return err
}

// runSuite runs the suite once and judges it by its own output.
func runSuite(t *testing.T, suite, etcd, folder string, c *controllers) {
	t.Helper()
	address := serve(t, c.handler())
	defer c.stopAll()
	modules := answer(t, "env", "GOMODCACHE")
	log := filepath.Join(folder, "suite.log")
	ctx, cancel := context.WithTimeout(t.Context(), suiteBound)
	defer cancel()
	started, err := process.Start(ctx, process.Spec{
		Name: "upstream's suite", Path: suite, Dir: folder, LogFile: log,
		Args: []string{"-test.v", "-test.run=" + *only, "-test.skip=" + leftOut, "-test.timeout=" + suiteBound.String()},
		Env: []string{
			"PATH=" + filepath.Dir(etcd) + string(os.PathListSeparator) + os.Getenv("PATH"),
			serverVariable + "=" + address,
			// No etcd is there, so that the suite starts one of its own.
			"KUBE_INTEGRATION_ETCD_URL=http://127.0.0.1:1",
			// Where the sources are that an executable built by -trimpath names, for the API server's certificate.
			"TEST_SRCDIR=" + modules, "TEST_WORKSPACE=.",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer started.Kill()
	select {
	case <-started.Done():
	case <-ctx.Done():
		t.Errorf("the suite has not ended: %v", context.Cause(ctx))
	}
	report(t, log)
	if ended := started.Err(); ended != nil && !t.Failed() {
		t.Error(ended)
	}
}

// serverVariable is the same in tools/kubernetes/jobs.
const serverVariable = "OSTINATO_SUITE_SERVER"

// serve serves on a loopback port until the test has ended.
func serve(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: harness.Prompt}
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}
