package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// What kustomize builds, relative to deploy.
const (
	base    = "base"
	overlay = "overlays/example"
)

// render runs kustomize build.
func render(ctx context.Context, folder string) ([]byte, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	tools, err := toolchain.Ensure(ctx, os.Stderr, "kustomize")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, tools["kustomize"], "build", filepath.Join(root, "deploy", folder))
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

// objects parses rendered manifests.
func objects(t *testing.T, rendered []byte) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), 4096)
	var all []*unstructured.Unstructured
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, &object)
		}
	}
}

// deployments returns the Deployments among rendered manifests by their name.
func deployments(t *testing.T, folder string) map[string]*appsv1.Deployment {
	t.Helper()
	rendered, err := render(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*appsv1.Deployment{}
	for _, object := range objects(t, rendered) {
		if object.GetKind() != "Deployment" {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
			t.Fatal(err)
		}
		found[deployment.Name] = deployment
	}
	return found
}

// The manifests apply without an error or a warning, also with fields that are
// not known refused.
func TestManifestsApply(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the overlay warns:\n%s", installOutput)
	}
	for _, folder := range []string{base, overlay} {
		t.Run(folder, func(t *testing.T) {
			rendered, err := render(t.Context(), folder)
			if err != nil {
				t.Fatal(err)
			}
			output, err := apply(t.Context(), stack.Stack, rendered, "--dry-run=server")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(output, "Warning:") {
				t.Errorf("kubectl warns:\n%s", output)
			}
		})
	}
}

// The arguments in the manifests are ones that the programs take.
func TestProgramsTakeTheManifestsArguments(t *testing.T) {
	for _, folder := range []string{base, overlay} {
		found := deployments(t, folder)
		for name, parse := range map[string]func([]string, config.LookupEnv, io.Writer) error{
			workerAccount: func(args []string, lookup config.LookupEnv, output io.Writer) error {
				_, err := config.ParseWorker(args, lookup, output)
				return err
			},
			bridgeAccount: func(args []string, lookup config.LookupEnv, output io.Writer) error {
				_, err := config.ParseBridge(args, lookup, output)
				return err
			},
		} {
			t.Run(folder+"/"+name, func(t *testing.T) {
				deployment := found[name]
				if deployment == nil {
					t.Fatalf("there is no Deployment %s", name)
				}
				container := deployment.Spec.Template.Spec.Containers[0]
				environment := map[string]string{}
				for _, variable := range container.Env {
					environment[variable.Name] = variable.Value
				}
				lookup := func(name string) (string, bool) {
					value, ok := environment[name]
					return value, ok
				}
				if err := parse(container.Args, lookup, io.Discard); err != nil {
					t.Errorf("args %q: %v", container.Args, err)
				}
			})
		}
	}
}

// Both run as the restricted Pod Security Standard wants it, can be probed, and
// under a service account of their own.
func TestDeploymentsAreHardened(t *testing.T) {
	found := deployments(t, overlay)
	for _, name := range []string{workerAccount, bridgeAccount} {
		deployment := found[name]
		if deployment == nil {
			t.Errorf("there is no Deployment %s", name)
			continue
		}
		pod := deployment.Spec.Template.Spec
		if deployment.Namespace != systemNamespace || pod.ServiceAccountName != name {
			t.Errorf("%s runs as %s in %s", name, pod.ServiceAccountName, deployment.Namespace)
		}
		container := pod.Containers[0]
		if container.LivenessProbe == nil || container.ReadinessProbe == nil {
			t.Errorf("%s lacks a probe", name)
		}
		security := container.SecurityContext
		if security == nil || security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
			t.Errorf("%s can write its image's files", name)
		}
		if container.Resources.Requests.Memory().IsZero() {
			t.Errorf("%s requests no memory", name)
		}
	}
	// The API server judges the rest: it refuses what is not restricted.
	rendered, err := render(t.Context(), overlay)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects(t, rendered) {
		if object.GetKind() == "Namespace" && object.GetLabels()["pod-security.kubernetes.io/enforce"] != "restricted" {
			t.Errorf("namespace %s does not enforce the restricted Pod Security Standard", object.GetName())
		}
	}
}
