package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
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

// misleading returns how the names of variables begin that are not passed on: if Temporal is the stack's own, the
// shell's settings for another one, such as a key or TLS, would keep everyone from it.
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
