// Package harness runs the whole stack for integration tests and offers builders
// and waits, so that a test reads like what it checks.
package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// startPatience bounds the start of a stack whose binaries are built already;
// when they are not, building them takes minutes more.
const startPatience = 14 * time.Minute

// Harness is a running stack with clients.
type Harness struct {
	Stack      *devstack.Stack
	Kubernetes kubernetes.Interface
	CronJobs   k8s.CronJobsGetter
	Temporal   client.Client
	// Dir holds the stack's logs.
	Dir string
	// cgroups are those of the processes whose memory is limited, by process ID.
	cgroups map[int]string
}

// Main runs a package's tests with a stack of their own: set is called before
// the tests with the running harness, each of after with it when they passed. It
// returns the exit code. The stack's folder is kept when a test failed.
func Main(m *testing.M, options devstack.Options, set func(*Harness), after ...func(context.Context, *Harness) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	harness, err := Start(ctx, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	set(harness)
	waitTogether()
	code := m.Run()
	for _, check := range after {
		if code != 0 {
			break
		}
		if err := check(ctx, harness); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			code = 1
		}
	}
	if err := harness.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if code == 0 {
		os.RemoveAll(harness.Dir)
	} else {
		fmt.Fprintf(os.Stderr, "logs are in %s/logs\n", harness.Dir)
	}
	return code
}

// parallelTests is how many parallel tests of a package run at a time: they wait
// for the stack far more than they compute, so the number of processors is no limit.
const parallelTests = "64"

// waitTogether raises -test.parallel, unless whoever runs the tests chose it.
func waitTogether() {
	if !flag.Parsed() {
		flag.Parse()
	}
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		flag.Set("test.parallel", parallelTests)
	}
}

// Start starts a stack in a new folder, with simulated Pods unless options say
// otherwise. OSTINATO_PROGRAMS names a folder with the worker and the bridge of another
// commit, to show what a test finds there.
func Start(ctx context.Context, options devstack.Options) (*Harness, error) {
	dir, err := os.MkdirTemp("", "ostinato-test-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	options.Dir = dir
	if options.Node == "" {
		options.Node = devstack.NodeKwok
	}
	options.NoUI = true
	if options.Programs == "" {
		options.Programs = os.Getenv("OSTINATO_PROGRAMS")
	}
	if options.Log == nil {
		options.Log = os.Stderr
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	stack, err := devstack.Start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("%w\nlogs are in %s/logs", err, dir)
	}
	harness := &Harness{Stack: stack, Dir: dir, cgroups: map[int]string{}}
	if err := harness.connect(ctx); err != nil {
		stack.Stop()
		return nil, err
	}
	return harness, nil
}

func (h *Harness) connect(ctx context.Context) error {
	config, err := h.Stack.RESTConfig()
	if err != nil {
		return err
	}
	clients, err := k8s.NewClients(config)
	if err != nil {
		return err
	}
	h.Kubernetes, h.CronJobs = clients.Kubernetes, clients.CronJobs
	h.Temporal, err = h.Stack.TemporalClient(ctx)
	return err
}

// Stop stops the stack.
func (h *Harness) Stop() error {
	if h.Temporal != nil {
		h.Temporal.Close()
	}
	return errors.Join(h.Stack.Stop(), h.release())
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace creates a namespace in which Pods are admitted for a test, and deletes
// it when the test ends.
func (h *Harness) Namespace(t *testing.T) string {
	t.Helper()
	prefix := notInNames.ReplaceAllString(strings.ToLower(t.Name()), "-")
	if len(prefix) > 40 {
		prefix = prefix[:40]
	}
	namespace, err := h.Kubernetes.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: strings.TrimRight(prefix, "-") + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	t.Cleanup(func() {
		err := h.Kubernetes.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
		if err != nil {
			t.Logf("delete namespace %s: %v", namespace.Name, err)
		}
	})
	Eventually(t, Prompt, func(ctx context.Context) error {
		_, err := h.Kubernetes.CoreV1().ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return namespace.Name
}

// CronJobWorkflow returns the ID of a CronJob's workflow.
func CronJobWorkflow(namespace, name string) string {
	return names.Cluster("").CronJobWorkflowID(namespace, name)
}

// JobWorkflow returns the ID of a Job's workflow.
func JobWorkflow(namespace, name string) string {
	return names.Cluster("").JobWorkflowID(namespace, name)
}
