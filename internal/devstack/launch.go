package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ostinato.dev/ostinato/internal/devstack/await"
	"ostinato.dev/ostinato/internal/devstack/process"
	"ostinato.dev/ostinato/internal/devstack/temporalcluster"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// startPatience bounds the wait for one process.
const startPatience = time.Minute

// launch starts a process and waits until it is ready.
func (s *Stack) launch(ctx context.Context, spec process.Spec, ready func(context.Context) error) (*process.Process, error) {
	spec.LogFile, spec.Without = s.options.logFile(spec.Name), s.misleading()
	started, err := process.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := started.WaitReady(ctx, ready); err != nil {
		return nil, errors.Join(err, started.Stop(stopGrace))
	}
	return started, nil
}

// launchOwn starts a worker or bridge with ports of its own for health and
// metrics, and waits for its /readyz.
func (s *Stack) launchOwn(ctx context.Context, name, path, program, kubeconfig string, args []string) (*process.Process, error) {
	s.log("starting " + name)
	if kubeconfig == "" {
		kubeconfig = s.KubeconfigPath()
	}
	health, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	metrics, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	env := []string{
		"KUBECONFIG=" + kubeconfig,
		fmt.Sprintf("OSTINATO_HEALTH_ADDRESS=127.0.0.1:%d", health),
		fmt.Sprintf("OSTINATO_METRICS_ADDRESS=127.0.0.1:%d", metrics),
	}
	env = append(env, s.reach(s.temporal.Access(program))...)
	own, err := s.launch(ctx, process.Spec{Name: name, Path: path, Args: args, Env: append(env, s.options.Env...)}, answers(health))
	if err == nil {
		s.metricsPorts[name], s.healthPorts[name] = metrics, health
	}
	return own, err
}

// misleading returns how the names of variables begin that are not passed on: where Temporal is the stack's own, what the
// shell says of another one, such as a key or that there is TLS, would keep everybody from it.
func (s *Stack) misleading() []string {
	if s.options.TemporalAddress != "" {
		return nil
	}
	return []string{"TEMPORAL_"}
}

// reach returns the variables with which a program reaches Temporal. The profiles of Temporal's configuration file are of
// other servers than the stack's.
func (s *Stack) reach(access temporalcluster.Access) []string {
	if s.options.TemporalAddress != "" {
		return access.Environment()
	}
	return append(access.Environment(), "TEMPORAL_CONFIG_FILE="+os.DevNull)
}

// answers returns a check that the health server on a loopback port is ready.
func answers(port int) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", port), nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
			return fmt.Errorf("%s: %s", response.Status, body)
		}
		return nil
	}
}

func (s *Stack) dial(ctx context.Context) (client.Client, error) {
	access := s.TemporalAccess()
	configuration, err := access.TLS()
	if err != nil {
		return nil, err
	}
	return client.DialContext(ctx, client.Options{
		HostPort: access.Address, Logger: silent{}, ConnectionOptions: client.ConnectionOptions{TLS: configuration},
	})
}

// TemporalClient returns a client of the Temporal server; the caller closes it.
func (s *Stack) TemporalClient(ctx context.Context) (client.Client, error) {
	temporal, err := s.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", s.TemporalAddress(), err)
	}
	return temporal, nil
}

// silent keeps the SDK's own lines out of the terminal.
type silent struct{}

var _ log.Logger = silent{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// bridgeNamespaces are where the bridge has its lease, as in deploy/base, and its probe,
// as in deploy/components/takeover-jobs.
var bridgeNamespaces = []string{"ostinato-system", "ostinato-probe"}

// applyCRD applies the CRD of the checkout, waits until it is served and makes
// the namespaces that the bridge needs.
func (s *Stack) applyCRD(ctx context.Context) error {
	for _, namespace := range bridgeNamespaces {
		if _, err := s.Kubectl(ctx, "create", "namespace", namespace); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			return err
		}
	}
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return err
	}
	if _, err := s.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(root, "deploy", "crd", "batch.ostinato.dev_cronjobs.yaml")); err != nil {
		return err
	}
	return s.awaitCRD(ctx)
}

// awaitCRD waits until CronJobs can be listed. kubectl wait would fail on a CRD
// that has no conditions yet.
func (s *Stack) awaitCRD(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	err := await.Success(ctx, 200*time.Millisecond, func(ctx context.Context) error {
		_, err := s.Kubectl(ctx, "get", "cronjobs.batch.ostinato.dev", "--all-namespaces")
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the CronJob kind to be served: %w", err)
	}
	return nil
}

// ApplySample applies one of deploy/samples.
func (s *Stack) ApplySample(ctx context.Context, name string) error {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return err
	}
	_, err = s.Kubectl(ctx, "apply", "-f", filepath.Join(root, "deploy", "samples", name))
	return err
}
