// Package deployment brings what is in deploy to the API server of a stack, as an
// operator would: by kustomize and kubectl.
package deployment

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ostinato.dev/ostinato/internal/devstack"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// What kustomize builds, relative to deploy.
const (
	Base    = "base"
	Example = "overlays/example"
)

// Components that an overlay may add, relative to deploy.
const (
	TakeOverJobs   = "components/takeover-jobs"
	WithoutPodLogs = "components/without-pod-logs"
)

// SystemNamespace is where the manifests put worker and bridge.
const SystemNamespace = "ostinato-system"

// The service accounts of worker and bridge.
const (
	WorkerAccount = "ostinato-worker"
	BridgeAccount = "ostinato-bridge"
)

// Render builds a folder of deploy, with components in an overlay of its own when
// there are any. A warning of kustomize's is an error.
func Render(ctx context.Context, folder string, components ...string) ([]byte, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	target := filepath.Join(root, "deploy", filepath.FromSlash(folder))
	if len(components) > 0 {
		overlay, err := combine(root, folder, components)
		if err != nil {
			return nil, fmt.Errorf("make an overlay of %s with %s: %w", folder, strings.Join(components, ", "), err)
		}
		defer os.RemoveAll(overlay)
		target = overlay
	}
	tools, err := toolchain.Ensure(ctx, os.Stderr, "kustomize")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, tools["kustomize"], "build", target)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	rendered, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w: %s", folder, err, complaints.String())
	}
	if complaints.Len() > 0 {
		return nil, fmt.Errorf("kustomize build %s warns: %s", folder, complaints.String())
	}
	return rendered, nil
}

// combine writes an overlay to a folder of its own. Kustomize takes relative paths only.
func combine(root, folder string, components []string) (string, error) {
	overlay, err := os.MkdirTemp("", "ostinato-overlay-")
	if err != nil {
		return "", err
	}
	from, err := filepath.EvalSymlinks(overlay)
	if err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	path, err := filepath.Rel(from, filepath.Join(root, "deploy"))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- %s/%s\ncomponents:\n", filepath.ToSlash(path), folder)
	for _, component := range components {
		fmt.Fprintf(&text, "- %s/%s\n", filepath.ToSlash(path), component)
	}
	return overlay, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text.String()), 0o644)
}

// Apply applies rendered manifests by server-side apply, refusing unknown fields,
// with more arguments of kubectl. It returns what kubectl said.
func Apply(ctx context.Context, stack *devstack.Stack, rendered []byte, more ...string) (string, error) {
	file, err := os.CreateTemp("", "ostinato-manifests-*.yaml")
	if err != nil {
		return "", fmt.Errorf("keep the manifests: %w", err)
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(rendered); err != nil {
		return "", fmt.Errorf("keep the manifests: %w", err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("keep the manifests: %w", err)
	}
	args := append([]string{"apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", file.Name()}, more...)
	return stack.Kubectl(ctx, args...)
}

// Install renders and applies, and returns what kubectl said and kubeconfigs of
// the service accounts of worker and bridge.
func Install(ctx context.Context, stack *devstack.Stack, folder string, components ...string) (output, worker, bridge string, err error) {
	rendered, err := Render(ctx, folder, components...)
	if err != nil {
		return "", "", "", err
	}
	if output, err = Apply(ctx, stack, rendered); err != nil {
		return output, "", "", err
	}
	if worker, err = stack.ControlPlane.KubeconfigForServiceAccount(ctx, SystemNamespace, WorkerAccount); err != nil {
		return output, "", "", err
	}
	bridge, err = stack.ControlPlane.KubeconfigForServiceAccount(ctx, SystemNamespace, BridgeAccount)
	return output, worker, bridge, err
}
