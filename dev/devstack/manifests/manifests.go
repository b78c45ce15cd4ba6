// Package manifests brings what is in deploy to the API server of a stack, as an
// operator would: by kustomize and kubectl.
package manifests

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// What kustomize builds, relative to deploy.
const (
	Base              = "base"
	Example           = "overlays/example"
	ExampleNamespaced = "overlays/namespaced"
)

// Components that an overlay may add, relative to deploy.
const (
	TakeOverJobs          = "components/takeover-jobs"
	TakeOverCronJobs      = "components/takeover-cronjobs"
	TakeOverAll           = "components/takeover-all"
	WithoutPodLogs        = "components/without-pod-logs"
	NetworkPolicy         = "components/network-policy"
	MetricsAuthentication = "components/metrics-authentication"
)

// What a namespaced installation is made of, relative to deploy.
const (
	namespaced = "components/namespaced"
	namespace  = "namespace"
)

// namespaceTakeOver are what the components for take-over add in each namespace of a
// namespaced installation.
var namespaceTakeOver = map[string][]string{
	TakeOverJobs:     {"namespace/takeover-jobs"},
	TakeOverCronJobs: {"namespace/takeover-cronjobs"},
	TakeOverAll:      {"namespace/takeover-cronjobs", "namespace/takeover-jobs"},
}

// SystemNamespace is where the manifests put worker and bridge; ProbeNamespace is
// where the bridge looks for the built-in job controller.
const (
	SystemNamespace = "ostinato-system"
	ProbeNamespace  = "ostinato-probe"
)

// The service accounts of worker and bridge.
const (
	WorkerAccount = "ostinato-worker"
	BridgeAccount = "ostinato-bridge"
)

// Installation is what an operator chooses.
type Installation struct {
	// Folder is Base or an overlay of it.
	Folder string
	// Namespaces are those to serve, with rights in no other; none means all.
	Namespaces []string
	// Components are added in their order.
	Components []string
}

// Arguments returns what its Deployments would tell worker and bridge, for processes
// that are not started by them.
func (i Installation) Arguments() (worker, bridge []string) {
	var both []string
	if len(i.Namespaces) > 0 {
		both = append(both, "--namespaces="+strings.Join(i.Namespaces, ","))
	}
	for _, component := range i.Components {
		switch component {
		case TakeOverJobs:
			both = append(both, "--takeover=jobs")
		case TakeOverCronJobs:
			both = append(both, "--takeover=cronjobs")
		case TakeOverAll:
			both = append(both, "--takeover=cronjobs,jobs")
		case MetricsAuthentication:
			both = append(both, "--metrics-authentication")
		case WithoutPodLogs:
			worker = append(worker, "--evidence-log-lines=0")
		}
	}
	return append(worker, both...), append([]string{"--lease-namespace=" + SystemNamespace}, both...)
}

// Render builds an installation. A warning of kustomize's is an error.
func Render(ctx context.Context, installation Installation) ([]byte, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	target := filepath.Join(root, "deploy", filepath.FromSlash(installation.Folder))
	if len(installation.Components)+len(installation.Namespaces) > 0 {
		if target, err = installation.overlay(filepath.Join(root, "deploy")); err != nil {
			return nil, fmt.Errorf("make an overlay of %s: %w", installation.Folder, err)
		}
		defer os.RemoveAll(target)
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
		return nil, fmt.Errorf("kustomize build of %+v: %w: %s", installation, err, complaints.String())
	}
	if complaints.Len() > 0 {
		return nil, fmt.Errorf("kustomize build of %+v warns: %s", installation, complaints.String())
	}
	return rendered, nil
}

// kustomization is the part of a kustomization.yaml that is written here.
type kustomization struct {
	Namespace          string               `json:"namespace,omitempty"`
	Resources          []string             `json:"resources"`
	Components         []string             `json:"components,omitempty"`
	ConfigMapGenerator []configMapGenerator `json:"configMapGenerator,omitempty"`
}

type configMapGenerator struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"`
	Literals  []string `json:"literals"`
}

// overlay writes the installation to a folder of its own, as overlays/namespaced has
// it. Kustomize takes relative paths only.
func (i Installation) overlay(deploy string) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "ostinato-overlay-"); err != nil {
		return "", err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return "", err
	}
	if deploy, err = filepath.EvalSymlinks(deploy); err != nil {
		return "", err
	}
	whole := kustomization{Resources: []string{i.Folder}, Components: slices.Clone(i.Components)}
	if len(i.Namespaces) > 0 {
		whole.Components = append(whole.Components, namespaced)
		whole.ConfigMapGenerator = []configMapGenerator{{
			Name: "ostinato-namespaces", Namespace: SystemNamespace, Literals: []string{"namespaces=" + strings.Join(i.Namespaces, ",")},
		}}
	}
	if err := whole.relativeTo(folder, deploy); err != nil {
		return "", err
	}
	for _, name := range i.Namespaces {
		one := kustomization{Namespace: name, Resources: []string{namespace}}
		for _, component := range i.Components {
			one.Resources = append(one.Resources, namespaceTakeOver[component]...)
		}
		sub := filepath.Join(folder, name)
		if err := one.relativeTo(sub, deploy); err != nil {
			return "", err
		}
		if err := one.write(sub); err != nil {
			return "", err
		}
		whole.Resources = append(whole.Resources, name)
	}
	return folder, whole.write(folder)
}

// relativeTo makes what is in deploy relative to a folder.
func (k *kustomization) relativeTo(folder, deploy string) error {
	path, err := filepath.Rel(folder, deploy)
	if err != nil {
		return err
	}
	for _, list := range [][]string{k.Resources, k.Components} {
		for i, name := range list {
			list[i] = filepath.ToSlash(path) + "/" + name
		}
	}
	return nil
}

func (k kustomization) write(folder string) error {
	text, err := yaml.Marshal(k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o644)
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
// the service accounts of worker and bridge. Namespaces to serve that are not there
// are created first.
func Install(ctx context.Context, stack *devstack.Stack, installation Installation) (output, worker, bridge string, err error) {
	rendered, err := Render(ctx, installation)
	if err != nil {
		return "", "", "", err
	}
	for _, name := range installation.Namespaces {
		if _, err := stack.Kubectl(ctx, "create", "namespace", name); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			return "", "", "", err
		}
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
