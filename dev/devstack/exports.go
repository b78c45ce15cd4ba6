package devstack

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/process"
)

// Exports are two variables of a shell's environment: where the stack that the shell uses is.
type Exports struct {
	// Kubeconfig is KUBECONFIG: a path, or several as kubectl takes them.
	Kubeconfig string
	// TemporalAddress is TEMPORAL_ADDRESS: a host and a port.
	TemporalAddress string
}

// ForeignExports tells the user's own cluster and Temporal server from those that the stack in dir printed when it ran
// last. It returns the exports without the latter, and the names of these.
func ForeignExports(dir string, exports Exports) (foreign Exports, own []string, err error) {
	e, err := lookAt(dir, exports)
	if err != nil {
		return Exports{}, nil, err
	}
	foreign, own = e.foreign(exports)
	return foreign, own, nil
}

// evidence is what decides whose an export is. Paths are absolute and without symbolic links.
type evidence struct {
	// kubeconfig is the file that gives kubectl its current context, ownKubeconfig the file that the stack writes.
	kubeconfig, ownKubeconfig string
	// ownAddress is Temporal's in the stack, "" before its first start.
	ownAddress string
	// taken: something listens at ownAddress. runs: a stack runs in the folder.
	taken, runs bool
}

// foreign returns the exports without the stack's own, and the names of these. A server at the stack's address is another
// one's when no stack runs.
func (e evidence) foreign(exports Exports) (foreign Exports, own []string) {
	if e.kubeconfig != "" && e.kubeconfig == e.ownKubeconfig {
		exports.Kubeconfig = ""
		own = append(own, "KUBECONFIG")
	}
	if e.ownAddress != "" && exports.TemporalAddress == e.ownAddress && (e.runs || !e.taken) {
		exports.TemporalAddress = ""
		own = append(own, "TEMPORAL_ADDRESS")
	}
	return exports, own
}

// lookAt gathers the evidence.
func lookAt(dir string, exports Exports) (evidence, error) {
	ownKubeconfig := resolved(controlplane.KubeconfigPath(kubernetesDir(dir)))
	e := evidence{kubeconfig: currentKubeconfig(exports.Kubeconfig, ownKubeconfig), ownKubeconfig: ownKubeconfig}
	ports, err := readPorts(dir)
	if err != nil || ports.Frontend == 0 {
		return e, err
	}
	e.ownAddress = frontendAddress(ports)
	if exports.TemporalAddress != e.ownAddress || process.PortIsFree(ports.Frontend) {
		return e, nil
	}
	e.taken = true
	unlock, free, err := process.TryLock(lockFile(dir))
	if err != nil {
		return e, fmt.Errorf("look whether a stack runs: %w", err)
	}
	if free {
		unlock()
	}
	e.runs = !free
	return e, nil
}

// currentKubeconfig returns the file of the list that gives kubectl its current context: the first that sets one, as own
// does. It is "" where none does.
func currentKubeconfig(list, own string) string {
	for _, path := range filepath.SplitList(list) {
		if path == "" {
			continue
		}
		if resolved(path) == own {
			return own
		}
		if config, err := clientcmd.LoadFromFile(path); err == nil && config.CurrentContext != "" {
			return resolved(path)
		}
	}
	return ""
}

// resolved returns the path, absolute and without symbolic links. The file need not exist.
func resolved(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		return real
	}
	parent := filepath.Dir(absolute)
	if parent == absolute {
		return absolute
	}
	return filepath.Join(resolved(parent), filepath.Base(absolute))
}
