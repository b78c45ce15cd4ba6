package deployment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/process"
)

// RunBridge runs one more bridge on the stack until it ends, with the access of a
// kubeconfig. It returns what the bridge wrote and its exit code.
func RunBridge(ctx context.Context, stack *devstack.Stack, kubeconfig string, args ...string) (output string, code int, err error) {
	programs, err := devstack.BuildPrograms(ctx, io.Discard)
	if err != nil {
		return "", 0, err
	}
	env := append(os.Environ(), "KUBECONFIG="+kubeconfig, "TEMPORAL_ADDRESS="+stack.TemporalAddress())
	for _, variable := range []string{"OSTINATO_HEALTH_ADDRESS", "OSTINATO_METRICS_ADDRESS"} {
		port, err := process.FreePort()
		if err != nil {
			return "", 0, err
		}
		env = append(env, fmt.Sprintf("%s=127.0.0.1:%d", variable, port))
	}
	command := exec.CommandContext(ctx, programs.Bridge, append([]string{"--lease-namespace=" + SystemNamespace}, args...)...)
	command.Env = env
	text, err := command.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return string(text), 0, fmt.Errorf("run a bridge: %w", err)
	}
	return string(text), command.ProcessState.ExitCode(), nil
}

// Probes lists the CronJobs and Jobs by which bridges ask for the built-in controllers.
func Probes(ctx context.Context, stack *devstack.Stack) (string, error) {
	return stack.Kubectl(ctx, "get", "cronjobs,jobs", "--namespace="+ProbeNamespace, "--selector=ostinato.dev/takeover-probe", "--output=name")
}
