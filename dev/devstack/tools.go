package devstack

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// ensureTools builds what the stack needs, but for what is left for later.
func (s *Stack) ensureTools(ctx context.Context) (toolchain.Binaries, error) {
	if !s.options.Later {
		return toolchain.Ensure(ctx, s.options.Log, slices.Concat(s.runs(), toolchain.Clients, s.network())...)
	}
	binaries, err := toolchain.Ensure(ctx, s.options.Log, s.runs()...)
	if err != nil {
		return nil, err
	}
	later, _, err := toolchain.Locate(slices.Concat(toolchain.Clients, s.network())...)
	maps.Copy(binaries, later)
	for _, name := range toolchain.Clients {
		if path, err := exec.LookPath(name); err == nil {
			binaries[name] = path
		}
	}
	return binaries, err
}

// runs are the tools without which the stack does not start.
func (s *Stack) runs() (names []string) {
	if s.options.Kubeconfig == "" {
		names = append(names, toolchain.ControlPlane...)
	}
	switch s.NodeKind {
	case NodeReal:
		names = append(names, toolchain.RealNode...)
	case NodeKwok:
		names = append(names, toolchain.KwokNode...)
	}
	return names
}

// network are the tools that give the Pods of a real node Services and names; none where that is not to be had.
func (s *Stack) network() []string {
	if s.services {
		return toolchain.Network
	}
	return nil
}

// BuildLater builds what was left for later, without a word. Clients on PATH do.
func (s *Stack) BuildLater(ctx context.Context) error {
	clients := slices.DeleteFunc(slices.Clone(toolchain.Clients), func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	// A person waits for the clients.
	if _, err := toolchain.Ensure(ctx, nil, clients...); err != nil {
		return err
	}
	_, err := toolchain.Ensure(ctx, nil, s.network()...)
	return err
}

// ClientsReady reports whether the command line clients are built.
func (s *Stack) ClientsReady() bool {
	return !slices.ContainsFunc(toolchain.Clients, func(name string) bool {
		_, err := exec.LookPath(s.tools[name])
		return err != nil
	})
}

// Tool returns the path of an executable such as kubectl or temporal.
func (s *Stack) Tool(name string) string { return s.tools[name] }

// Kubectl runs kubectl against the cluster and returns what it printed.
func (s *Stack) Kubectl(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, s.tools["kubectl"], args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.KubeconfigPath())
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return string(output), nil
}

// Temporal runs the temporal command against the server and returns what it printed.
func (s *Stack) Temporal(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, s.tools["temporal"], args...)
	command.Env = append(process.Environment(s.misleading()...), s.reach(s.TemporalAccess())...)
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("temporal %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return string(output), nil
}
