package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster"
	"ostinato.dev/ostinato/dev/devstack/temporalcluster/spec"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// stopGrace is how long one of our processes may take to drain.
const stopGrace = 15 * time.Second

// Stack is a running stack. Its methods are for one goroutine at a time.
type Stack struct {
	// ControlPlane is nil when the cluster is the user's own.
	ControlPlane *controlplane.ControlPlane
	// NodeKind is what runs the Pods; NodeStatement says in words what that means.
	NodeKind      NodeKind
	NodeStatement string
	// Ports are those of the Temporal server.
	Ports Ports

	options Options
	// services says that a real node's Pods get Services and names.
	services bool
	tools    toolchain.Binaries
	programs Programs
	node     runningNode
	temporal temporalServer
	workers  []*process.Process
	bridges  []*process.Process
	// unlock lets others use the folder.
	unlock func()
	// started numbers our processes, so that each has a log of its own.
	started int
	// metricsPorts and healthPorts are by process name.
	metricsPorts, healthPorts map[string]int
}

// Start builds what is missing, starts everything and waits until it is ready.
// What it started is stopped again when it fails.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s := &Stack{options: options.withDefaults(), metricsPorts: map[string]int{}, healthPorts: map[string]int{}}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.startCluster(ctx); err != nil {
		return err
	}
	if err := s.applyCRD(ctx); err != nil {
		return err
	}
	if err := s.StartTemporal(ctx); err != nil {
		return err
	}
	if s.options.Access != nil {
		var err error
		if s.options.WorkerKubeconfig, s.options.BridgeKubeconfig, err = s.options.Access(ctx, s); err != nil {
			return err
		}
	}
	for range s.options.Workers {
		if err := s.StartWorker(ctx); err != nil {
			return err
		}
	}
	for range s.options.Bridges {
		if err := s.StartBridge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes folders, chooses the node and ports, and builds executables.
func (s *Stack) prepare(ctx context.Context) error {
	if s.options.Dir == "" {
		return errors.New("development stack: no folder given")
	}
	// The folder itself may be one of the user's, or open to the user that PostgreSQL runs as. What is in it is closed.
	if err := os.MkdirAll(s.options.Dir, 0o700); err != nil {
		return fmt.Errorf("development stack: %w", err)
	}
	if err := process.PrivateFolder(filepath.Join(s.options.Dir, "logs")); err != nil {
		return fmt.Errorf("development stack: %w", err)
	}
	// Before the ports: those of a stack that runs are not free, and would be given up for others.
	if err := s.lock(); err != nil {
		return err
	}
	if s.options.Kubeconfig != "" {
		s.options.Node = NodeNone
	}
	possible, missing := node.CanRunReal()
	var err error
	if s.NodeKind, s.NodeStatement, err = chooseNode(s.options.Node, possible, missing); err != nil {
		return err
	}
	if s.NodeKind == NodeReal {
		if s.services, missing = toolchain.CanHaveNft(); !s.services {
			s.NodeStatement = servicesStatement(missing)
		}
	}
	fetching, fetched := context.WithCancel(ctx)
	defer fetched()
	go toolchain.FetchModules(fetching, s.runs(), s.options.packages()...)
	if s.tools, err = s.ensureTools(ctx); err != nil {
		return err
	}
	if s.programs, err = buildPrograms(ctx, s.options.Log, s.options.packages()); err != nil {
		return err
	}
	if s.options.Programs != "" {
		s.programs.Worker, s.programs.Bridge = filepath.Join(s.options.Programs, "worker"), filepath.Join(s.options.Programs, "bridge")
	}
	if s.Ports, err = keptPorts(s.options.Dir, s.options.UsualPorts); err != nil {
		return err
	}
	s.temporal, err = s.newTemporal()
	return err
}

// lock takes the folder, which one stack at a time can use.
func (s *Stack) lock() error {
	unlock, ok, err := process.TryLock(lockFile(s.options.Dir))
	if err != nil {
		return fmt.Errorf("development stack: %w", err)
	}
	if !ok {
		return fmt.Errorf("another stack runs in %s", s.options.Dir)
	}
	s.unlock = unlock
	return nil
}

func (s *Stack) startCluster(ctx context.Context) error {
	if s.options.Kubeconfig != "" {
		return nil
	}
	s.log("starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler")
	manager := s.options.ControllerManager
	manager.Enabled = true
	var err error
	s.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: kubernetesDir(s.options.Dir), Binaries: s.tools,
		ControllerManager: manager, Scheduler: true, APIServerFlags: s.options.APIServerFlags, Log: s.options.Log,
	})
	if err != nil {
		return err
	}
	return s.startNode(ctx)
}

// StartTemporal starts the Temporal server, after KillTemporal too.
func (s *Stack) StartTemporal(ctx context.Context) error {
	switch {
	case s.options.TemporalAddress != "":
	case s.options.Temporal == TemporalPostgres:
		s.log("starting Temporal on PostgreSQL: " + strings.Join(temporalcluster.HostNames(), ", "))
	default:
		s.log("starting Temporal")
	}
	return s.temporal.Start(ctx)
}

// StartWorker starts one more worker.
func (s *Stack) StartWorker(ctx context.Context) error {
	args := s.options.WorkerArgs
	if s.options.Temporal == TemporalGuarded {
		args = append(slices.Clip(args), "--caller-header")
	}
	worker, err := s.launchOwn(ctx, s.nextName("worker"), s.programs.Worker, spec.Worker, s.options.WorkerKubeconfig, args)
	if err == nil {
		s.workers = append(s.workers, worker)
	}
	return err
}

// StartBridge starts one more bridge.
func (s *Stack) StartBridge(ctx context.Context) error {
	bridge, err := s.launchOwn(ctx, s.nextName("bridge"), s.programs.Bridge, spec.Bridge, s.options.BridgeKubeconfig, s.options.BridgeArgs)
	if err == nil {
		s.bridges = append(s.bridges, bridge)
	}
	return err
}

func (s *Stack) nextName(kind string) string {
	s.started++
	return fmt.Sprintf("%s-%d", kind, s.started)
}

// MetricsAddress returns the URL of the Prometheus metrics of one of our
// processes, by its name.
func (s *Stack) MetricsAddress(name string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", s.metricsPorts[name])
}

// HealthAddress returns the URL at which one of our processes, by its name, says that it lives.
func (s *Stack) HealthAddress(name string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/healthz", s.healthPorts[name])
}

// Processes returns those that run: the control plane's, the node's, Temporal's
// and ours.
func (s *Stack) Processes() []*process.Process {
	var all []*process.Process
	if s.ControlPlane != nil {
		all = append(all, s.ControlPlane.Processes()...)
	}
	if s.node != nil {
		all = append(all, s.node.Processes()...)
	}
	if s.temporal != nil {
		all = append(all, s.temporal.Processes()...)
	}
	return append(append(all, s.workers...), s.bridges...)
}

// Ended returns an error when one of the processes has ended by itself, with the
// last lines of its log.
func (s *Stack) Ended() error {
	for _, member := range s.Processes() {
		select {
		case <-member.Done():
			return member.Failure(fmt.Errorf("%s ended by itself", member.Name()))
		default:
		}
	}
	return nil
}

// Stop stops what Start started, in reverse order, and leaves nothing behind.
// The state in Dir stays.
func (s *Stack) Stop() error {
	var failures []error
	for _, group := range [][]*process.Process{s.bridges, s.workers} {
		for _, member := range group {
			failures = append(failures, member.Stop(stopGrace))
		}
	}
	s.bridges, s.workers = nil, nil
	if s.temporal != nil {
		failures = append(failures, s.temporal.Stop())
	}
	if s.node != nil {
		failures = append(failures, s.node.Stop())
		s.node = nil
	}
	if s.ControlPlane != nil {
		failures = append(failures, s.ControlPlane.Stop())
		s.ControlPlane = nil
	}
	if s.unlock != nil {
		s.unlock()
		s.unlock = nil
	}
	return errors.Join(failures...)
}

// KubeconfigPath returns the kubeconfig of the cluster's administrator.
func (s *Stack) KubeconfigPath() string {
	if s.ControlPlane == nil {
		return s.options.Kubeconfig
	}
	return s.ControlPlane.KubeconfigPath()
}

// RESTConfig returns the administrator's access, without client-side limits.
func (s *Stack) RESTConfig() (*rest.Config, error) {
	// KUBECONFIG of the user may be a list of files.
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(s.KubeconfigPath())}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", s.KubeconfigPath(), err)
	}
	config.QPS = -1
	return config, nil
}

// TemporalAddress returns the address of the Temporal frontend.
func (s *Stack) TemporalAddress() string { return s.TemporalAccess().Address }

// TemporalAccess returns how the administrator reaches the Temporal server.
func (s *Stack) TemporalAccess() temporalcluster.Access { return s.temporal.Access(spec.Admin) }

// UIAddress returns the URL of the Web UI, "" when the stack runs none.
func (s *Stack) UIAddress() string {
	if s.options.NoUI || s.options.TemporalAddress != "" {
		return ""
	}
	return fmt.Sprintf("http://127.0.0.1:%d", s.Ports.UI)
}

func (s *Stack) log(line string) { fmt.Fprintf(s.options.Log, "stack: %s\n", line) }
