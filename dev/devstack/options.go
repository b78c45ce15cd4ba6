package devstack

import (
	"context"
	"io"
	"path/filepath"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
)

// Options say what a stack consists of. Only Dir is required.
type Options struct {
	// Dir holds all state and logs. Starting again in the same Dir finds objects
	// and workflows as they were, at the same addresses where these are free.
	Dir string
	// Node is what runs the Pods; NodeAuto when empty.
	Node NodeKind
	// Kubeconfig names a cluster to use instead of an own control plane and node.
	Kubeconfig string
	// Temporal is which Temporal server runs; TemporalEmbedded when empty.
	Temporal TemporalKind
	// TemporalAddress names a Temporal server to use instead of an own one.
	TemporalAddress string
	// UsualPorts asks for Temporal's well-known ports when they are free.
	UsualPorts bool
	// NoUI leaves the Temporal Web UI out.
	NoUI bool
	// TemporalInMemory keeps the embedded Temporal server's data in memory.
	TemporalInMemory bool
	// ControllerManager says which built-in controllers run beside Ostinato.
	ControllerManager controlplane.ControllerManagerOptions
	// APIServerFlags are added to kube-apiserver's.
	APIServerFlags []string
	// Workers and Bridges are how many processes of each run; 1 when 0. A negative
	// number means none.
	Workers, Bridges int
	// WorkerArgs and BridgeArgs are added to their arguments.
	WorkerArgs, BridgeArgs []string
	// WorkerKubeconfig and BridgeKubeconfig replace the administrator's access.
	WorkerKubeconfig, BridgeKubeconfig string
	// TemporalAccess, where set, is asked for the kubeconfig of a TemporalGuarded, in place of the administrator's, before each
	// start of it.
	TemporalAccess func(context.Context, *Stack) (string, error)
	// Access, where set, is asked for WorkerKubeconfig and BridgeKubeconfig once the
	// cluster runs and serves the CRD, before the first worker starts.
	Access func(context.Context, *Stack) (worker, bridge string, err error)
	// Env is added to the environment of workers and bridges.
	Env []string
	// Programs is a folder with a worker and a bridge to run instead of the
	// checkout's own.
	Programs string
	// Later leaves what a stack starts without, the command line clients and a real node's Services, to BuildLater. Clients
	// on PATH are taken as they are.
	Later bool
	// Log receives a line for each step; nil discards them.
	Log io.Writer
}

func (o Options) withDefaults() Options {
	if o.Node == "" {
		o.Node = NodeAuto
	}
	if o.Temporal == "" {
		o.Temporal = TemporalEmbedded
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Bridges == 0 {
		o.Bridges = 1
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// kubernetesDir is where the own control plane of a stack in dir keeps its state.
func kubernetesDir(dir string) string { return filepath.Join(dir, "kubernetes") }

// lockFile is locked while a stack runs in dir.
func lockFile(dir string) string { return filepath.Join(dir, ".lock") }

func (o Options) logFile(name string) string { return filepath.Join(o.Dir, "logs", name+".log") }
