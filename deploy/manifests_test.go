// Package deploy_test checks the manifests for what a look at one file alone
// does not show. That the API server accepts them is an integration test.
package deploy_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/config"
	"ostinato.dev/ostinato/internal/names"
)

// clientSideLimit is the size of all annotations of an object, into one of which
// kubectl apply puts the whole object.
const clientSideLimit = 256 * 1024

// documents returns the documents of kind in the YAML files of a folder.
func documents(t *testing.T, folder, kind string) [][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var found [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var meta struct {
				Kind string `json:"kind"`
			}
			require.NoError(t, yaml.Unmarshal(document, &meta), file)
			if meta.Kind == kind {
				found = append(found, document)
			}
		}
	}
	return found
}

// objects decodes the base's documents of kind, without tolerance for unknown fields.
func objects[T any](t *testing.T, kind string) []T {
	t.Helper()
	return objectsOf[T](t, "base", kind)
}

// objectsOf is objects of another folder.
func objectsOf[T any](t *testing.T, folder, kind string) []T {
	t.Helper()
	decoded := all[T](t, folder, kind)
	require.NotEmpty(t, decoded, kind)
	return decoded
}

// all is objectsOf where there may be none.
func all[T any](t *testing.T, folder, kind string) []T {
	t.Helper()
	var decoded []T
	for _, document := range documents(t, folder, kind) {
		var object T
		require.NoError(t, yaml.UnmarshalStrict(document, &object), "%s", document)
		decoded = append(decoded, object)
	}
	return decoded
}

func TestDefinitionFitsClientSideApply(t *testing.T) {
	found := documents(t, "crd", "CustomResourceDefinition")
	require.Len(t, found, 1)
	text, err := yaml.YAMLToJSON(found[0])
	require.NoError(t, err)
	assert.Less(t, len(text), clientSideLimit)
}

func TestDefinitionAcceptsWhatBatchV1Accepts(t *testing.T) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(documents(t, "crd", "CustomResourceDefinition")[0], &definition))
	require.Len(t, definition.Spec.Versions, 1)
	at := func(path ...string) map[string]any {
		node := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, name := range path {
			if name != "items" {
				node = node["properties"].(map[string]any)
			}
			next, ok := node[name].(map[string]any)
			require.True(t, ok, "the schema lacks %s of %v", name, path)
			node = next
		}
		return node
	}
	pod := []string{"spec", "jobTemplate", "spec", "template", "spec"}
	for _, list := range [][]string{
		{"containers", "items", "env"}, {"containers", "items", "ports"}, {"initContainers", "items", "env"}, {"imagePullSecrets"}, {"hostAliases"},
	} {
		assert.NotContains(t, at(append(pod, list...)...), "x-kubernetes-list-type", "%v may hold a key twice", list)
	}
	assert.Contains(t, at(append(pod, "volumes")...), "x-kubernetes-list-map-keys")
	assert.Equal(t, "TCP", at(append(pod, "containers", "items", "ports", "items", "protocol")...)["default"])
	at("spec", "jobTemplate", "spec", "managedBy")
	for _, metadata := range [][]string{{"spec", "jobTemplate", "metadata"}, {"spec", "jobTemplate", "spec", "template", "metadata"}} {
		at(append(metadata, "labels")...)
		at(append(metadata, "annotations")...)
	}
}

// programs are the commands of the containers, which here end once their settings are valid.
func programs(lookup config.LookupEnv) map[string]*cobra.Command {
	return map[string]*cobra.Command{
		"worker": config.WorkerCommand(lookup, func(context.Context, config.Worker) error { return nil }),
		"bridge": config.BridgeCommand(lookup, func(context.Context, config.Bridge) error { return nil }),
	}
}

// componentsWithSettings change Deployments.
var componentsWithSettings = []string{
	"components/takeover-jobs", "components/takeover-cronjobs", "components/takeover-all", "components/without-pod-logs", "components/namespaced", "components/metrics-authentication", "components/who",
}

func TestEverySettingIsOne(t *testing.T) {
	var deployments []appsv1.Deployment
	for _, folder := range slices.Concat([]string{"base", "overlays/example"}, componentsWithSettings) {
		deployments = append(deployments, objectsOf[appsv1.Deployment](t, filepath.FromSlash(folder), "Deployment")...)
	}
	for _, deployment := range deployments {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			values := map[string]string{}
			program := programs(func(name string) (string, bool) { value, ok := values[name]; return value, ok })[container.Name]
			for _, variable := range container.Env {
				if !strings.HasPrefix(variable.Name, "OSTINATO_") {
					continue
				}
				assert.Contains(t, program.UsageString(), "["+variable.Name+"]", "%s has no such setting", container.Name)
				values[variable.Name] = variable.Value
			}
			program.SetArgs(append([]string{}, container.Args...))
			assert.NoError(t, program.Execute())
		}
	}
}

func TestWorkloadsAreRestricted(t *testing.T) {
	accounts := map[string]bool{}
	for _, account := range objects[corev1.ServiceAccount](t, "ServiceAccount") {
		accounts[account.Name] = true
	}
	for _, deployment := range objects[appsv1.Deployment](t, "Deployment") {
		pod := deployment.Spec.Template.Spec
		assert.True(t, accounts[pod.ServiceAccountName], pod.ServiceAccountName)
		assert.True(t, *pod.SecurityContext.RunAsNonRoot)
		assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
		assert.GreaterOrEqual(t, *deployment.Spec.Replicas, int32(2))
		for _, container := range pod.Containers {
			assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
			assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
			assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
			assert.Equal(t, "/healthz", container.LivenessProbe.HTTPGet.Path)
			assert.Equal(t, "/readyz", container.ReadinessProbe.HTTPGet.Path)
		}
	}
}

// The worker's grace in Kubernetes must cover what it gives its activities.
func TestPodsAreGivenTheTimeToDrain(t *testing.T) {
	var worker config.Worker
	worker.AddFlags(&command.Flags{})
	for _, deployment := range objects[appsv1.Deployment](t, "Deployment") {
		assert.Greater(t, float64(*deployment.Spec.Template.Spec.TerminationGracePeriodSeconds), worker.DrainTimeout.Seconds()+10)
	}
}

func TestEveryDeploymentHasItsDisruptionBudget(t *testing.T) {
	budgets := map[string]string{}
	for _, budget := range objects[policyv1.PodDisruptionBudget](t, "PodDisruptionBudget") {
		budgets[budget.Name] = budget.Spec.Selector.MatchLabels["app.kubernetes.io/name"]
	}
	for _, deployment := range objects[appsv1.Deployment](t, "Deployment") {
		assert.Equal(t, deployment.Spec.Template.Labels["app.kubernetes.io/name"], budgets[deployment.Name])
	}
}

func TestHelloIsTheDocumentedCronJob(t *testing.T) {
	found := documents(t, "samples", "CronJob")
	require.NotEmpty(t, found)
	var hello ostinatov1.CronJob
	require.NoError(t, yaml.UnmarshalStrict(found[0], &hello))
	assert.Equal(t, ostinatov1.GroupVersion.String(), hello.APIVersion)
	container := hello.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	assert.Equal(t, "busybox:1.28", container.Image)
	assert.Equal(t, []string{"/bin/sh", "-c", "date; echo Hello from the Kubernetes cluster"}, container.Command)
	assert.Nil(t, hello.Spec.JobTemplate.Spec.ManagedBy, "Ostinato adds %s by itself", names.JobController)
}
