package devstack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
	"ostinato.dev/ostinato/internal/config"
)

// TemporalKind says which Temporal server a stack runs.
type TemporalKind string

const (
	// TemporalEmbedded is one process on SQLite files, without TLS.
	TemporalEmbedded TemporalKind = "embedded"
	// TemporalGuarded is the same, and asks the API server who may call it.
	TemporalGuarded TemporalKind = "guarded"
	// TemporalPostgres is a cluster on PostgreSQL with its roles in separate processes, mTLS and an authorizer.
	TemporalPostgres TemporalKind = "postgres"
)

// TemporalKinds are all there are.
var TemporalKinds = []TemporalKind{TemporalEmbedded, TemporalGuarded, TemporalPostgres}

// temporalServer is the Temporal server of a stack.
type temporalServer interface {
	// Start starts what does not run, on the data that there is, and returns when workflows can be started.
	Start(ctx context.Context) error
	// Kill kills (SIGKILL) the server; Start starts it again at the same address.
	Kill() error
	// Stop stops all of it. Stopping what does not run does nothing.
	Stop() error
	// Processes returns those that run.
	Processes() []*process.Process
	// Access returns how a program reaches the server: spec.Admin, spec.Worker or spec.Bridge.
	Access(program string) temporalcluster.Access
}

// newTemporal returns the server that the options ask for. It does not run yet.
func (s *Stack) newTemporal() (temporalServer, error) {
	if s.options.TemporalAddress != "" && s.options.Temporal != TemporalEmbedded {
		return nil, fmt.Errorf("the Temporal server at %s is asked for (TEMPORAL_ADDRESS), and one on PostgreSQL too: take one away", s.options.TemporalAddress)
	}
	if s.options.TemporalAddress != "" {
		return externalTemporal{address: s.options.TemporalAddress}, nil
	}
	if s.options.Temporal == TemporalPostgres {
		if s.options.TemporalInMemory {
			return nil, errors.New("a Temporal cluster on PostgreSQL can't keep its data in memory")
		}
		return temporalcluster.New(temporalcluster.Options{
			Dir: filepath.Join(s.options.Dir, "temporal-cluster"), Program: s.programs.TemporalHost,
			FrontendPort: s.Ports.Frontend, UIPort: s.uiPort(), LogFile: s.options.logFile, Log: s.options.Log,
		}), nil
	}
	if s.options.Temporal == TemporalGuarded {
		return s.newGuarded(), nil
	}
	return &embeddedTemporal{stack: s}, nil
}

// uiPort is 0 where there is no Web UI.
func (s *Stack) uiPort() int {
	if s.options.NoUI {
		return 0
	}
	return s.Ports.UI
}

// Cluster returns the stack's Temporal cluster, nil where it runs none.
func (s *Stack) Cluster() *temporalcluster.Cluster {
	cluster, _ := s.temporal.(*temporalcluster.Cluster)
	return cluster
}

// embeddedTemporal is cmd/temporal.
type embeddedTemporal struct {
	stack   *Stack
	process *process.Process
	// args and env are what it is given besides.
	args, env []string
	// inner are the ports at which its services talk to one another, the same at every start.
	inner []string
}

func (e *embeddedTemporal) Start(ctx context.Context) error {
	for len(e.inner) < innerPorts {
		port, err := process.FreePort()
		if err != nil {
			return err
		}
		e.inner = append(e.inner, strconv.Itoa(port))
	}
	ui := ""
	if port := e.stack.uiPort(); port != 0 {
		ui = fmt.Sprintf("127.0.0.1:%d", port)
	}
	args := []string{
		fmt.Sprintf("--address=127.0.0.1:%d", e.stack.Ports.Frontend), "--ui-address=" + ui, "--inner-ports=" + strings.Join(e.inner, ","),
		"--data-dir=" + e.dataFolder(), "--synchronous=" + config.SynchronousNormal, "--health-address=", "--log-level=warn",
	}
	started, err := e.stack.launch(ctx, process.Spec{
		Name: "temporal", Path: e.stack.programs.Temporal, Args: append(args, e.args...), Env: e.env,
	}, e.ready)
	if err == nil {
		e.process = started
	}
	return err
}

// innerPorts is how many cmd/temporal wants.
const innerPorts = 4

// dataFolder holds the databases, if any.
func (e *embeddedTemporal) dataFolder() string {
	if e.stack.options.TemporalInMemory {
		return config.InMemory
	}
	return filepath.Join(e.stack.options.Dir, "temporal")
}

// ready checks that the server answers for its namespace.
func (e *embeddedTemporal) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	temporal, err := e.stack.dial(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()
	_, err = temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
	return err
}

func (e *embeddedTemporal) Kill() error {
	if e.process == nil {
		return errors.New("no Temporal server runs")
	}
	err := e.process.Kill()
	e.process = nil
	return err
}

func (e *embeddedTemporal) Stop() error {
	if e.process == nil {
		return nil
	}
	err := e.process.Stop(stopGrace)
	e.process = nil
	return err
}

func (e *embeddedTemporal) Processes() []*process.Process {
	if e.process == nil {
		return nil
	}
	return []*process.Process{e.process}
}

func (e *embeddedTemporal) Access(string) temporalcluster.Access {
	return temporalcluster.Access{Address: frontendAddress(e.stack.Ports)}
}

// externalTemporal is the user's own. What else than the address is needed to reach it is in the environment.
type externalTemporal struct{ address string }

func (externalTemporal) Start(context.Context) error   { return nil }
func (externalTemporal) Kill() error                   { return errors.New("the Temporal server is not ours to kill") }
func (externalTemporal) Stop() error                   { return nil }
func (externalTemporal) Processes() []*process.Process { return nil }

func (e externalTemporal) Access(string) temporalcluster.Access {
	return temporalcluster.Access{Address: e.address}
}
