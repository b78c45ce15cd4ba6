package devstack

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"ostinato.dev/ostinato/internal/devstack/process"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// ensureTools builds what the stack runs, and the command line clients unless they are left for later.
func (s *Stack) ensureTools(ctx context.Context) (toolchain.Binaries, error) {
	names := s.runs()
	if !s.options.ClientsLater {
		return toolchain.Ensure(ctx, s.options.Log, append(names, toolchain.Clients...)...)
	}
	binaries, err := toolchain.Ensure(ctx, s.options.Log, names...)
	if err != nil {
		return nil, err
	}
	clients, _, err := toolchain.Locate(toolchain.Clients...)
	maps.Copy(binaries, clients)
	for _, name := range toolchain.Clients {
		if path, err := exec.LookPath(name); err == nil {
			binaries[name] = path
		}
	}
	return binaries, err
}

// runs are the tools that run in the stack.
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

// BuildClients builds the command line clients that were left for later, without a word. Those on PATH do.
func (s *Stack) BuildClients(ctx context.Context) error {
	missing := slices.DeleteFunc(slices.Clone(toolchain.Clients), func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	_, err := toolchain.Ensure(ctx, nil, missing...)
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
