package deploy_test

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/devstack/manifests"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// TestTheChartIsWhatKustomizeBuilds, object by object, for the default values and for each value that stands for a component.
func TestTheChartIsWhatKustomizeBuilds(t *testing.T) {
	for name, installation := range map[string]struct {
		values     []string
		components []string
		namespaces []string
	}{
		"the defaults":            {[]string{"temporal.address="}, []string{"temporal-embedded", "temporal-access"}, nil},
		"open to all":             {[]string{"temporal.address=", "temporal.embedded.access=open"}, []string{"temporal-embedded"}, nil},
		"another Temporal":        {},
		"network policy":          {[]string{"networkPolicy.enabled=true"}, []string{"network-policy"}, nil},
		"metrics authentication":  {[]string{"metrics.authentication=true"}, []string{"metrics-authentication"}, nil},
		"without logs of Pods":    {[]string{"podLogs=false"}, []string{"without-pod-logs"}, nil},
		"who suspends":            {[]string{"stampedUsers=true"}, []string{"who"}, nil},
		"encryption of payloads":  {[]string{"payloadEncryption.enabled=true"}, []string{"payload-encryption"}, nil},
		"a codec server":          {[]string{"payloadEncryption.enabled=true", "codecServer.enabled=true"}, []string{"payload-encryption", "codec-server"}, nil},
		"the Prometheus operator": {[]string{"prometheusOperator.enabled=true"}, []string{"prometheus-operator"}, nil},
		"the operator, by authentication": {[]string{"prometheusOperator.enabled=true", "metrics.authentication=true"},
			[]string{"metrics-authentication", "prometheus-operator", "prometheus-operator/authentication"}, nil},
		"take over Jobs":                     {[]string{"takeover.jobs=true"}, []string{"takeover-jobs"}, nil},
		"take over CronJobs":                 {[]string{"takeover.cronJobs=true"}, []string{"takeover-cronjobs"}, nil},
		"take over both":                     {[]string{"takeover.cronJobs=true", "takeover.jobs=true"}, []string{"takeover-all"}, nil},
		"some namespaces":                    {[]string{"namespaces={billing,shop}"}, nil, []string{"billing", "shop"}},
		"take over both, in some namespaces": {[]string{"namespaces={billing,shop}", "takeover.cronJobs=true", "takeover.jobs=true"}, []string{"takeover-all"}, []string{"billing", "shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			for number, component := range installation.components {
				installation.components[number] = "components/" + component
			}
			wanted, err := manifests.Render(t.Context(), manifests.Installation{
				Folder: manifests.Base, Components: installation.components, Namespaces: installation.namespaces,
			})
			require.NoError(t, err)
			want, got := byName(t, wanted), byName(t, render(t, installation.values...))
			// Helm makes the namespace of a release, or finds it there.
			delete(want, "Namespace /ostinato-system")
			assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
			for key, object := range want {
				assert.Equal(t, object, got[key], key)
			}
		})
	}
}

// TestOneFileInstallsTheDefaults: install.yaml has what kustomize builds with a Temporal of the installation's own, and its namespace
// before what is in it.
func TestOneFileInstallsTheDefaults(t *testing.T) {
	wanted, err := manifests.Render(t.Context(), manifests.Installation{Folder: manifests.Base, Components: []string{"components/temporal-embedded", "components/temporal-access"}})
	require.NoError(t, err)
	tools, err := toolchain.Ensure(t.Context(), t.Output(), toolchain.Installing...)
	require.NoError(t, err)
	const registry, tag = "registry.example/team/", ":1"
	var complaints bytes.Buffer
	script := exec.CommandContext(t.Context(), "../dev/install.sh", tools["helm"], "--set-string", "image.registry="+strings.TrimSuffix(registry, "/")+",image.tag="+tag[1:])
	script.Stderr = &complaints
	file, err := script.Output()
	require.NoError(t, err, complaints.String())
	assert.True(t, bytes.HasPrefix(file, []byte("apiVersion: v1\nkind: Namespace\n")), "kubectl applies in this order")
	for _, image := range []string{"ostinato", "ostinato-temporal"} {
		assert.Contains(t, string(file), "image: "+registry+image+tag+"\n")
	}
	file = regexp.MustCompile("image: "+registry+"(.*)"+tag+"\n").ReplaceAll(file, []byte("image: $1\n"))
	want, got := byName(t, wanted), byName(t, file)
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for key, object := range want {
		assert.Equal(t, object, got[key], key)
	}
}

// render is what Helm makes of the chart with these values.
func render(t *testing.T, values ...string) []byte {
	t.Helper()
	arguments := []string{"template", "ostinato", "chart", "--skip-tests", "--namespace", manifests.SystemNamespace, "--set", "temporal.address=temporal-frontend.temporal:7233"}
	for _, value := range values {
		arguments = append(arguments, "--set", value)
	}
	rendered, err := helm(t, arguments...)
	require.NoError(t, err)
	return rendered
}

func helm(t *testing.T, arguments ...string) ([]byte, error) {
	t.Helper()
	tools, err := toolchain.Ensure(t.Context(), t.Output(), toolchain.Installing...)
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), tools["helm"], arguments...)
	command.Env = append(command.Environ(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	var complaints bytes.Buffer
	command.Stderr = &complaints
	printed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("helm %v: %w: %s", arguments, err, complaints.String())
	}
	return printed, nil
}

// byName decodes objects. What a chart has by its nature is left out: what keeps the definition at an uninstall, what starts Pods
// anew when their settings change, and the tag of the image.
func byName(t *testing.T, manifest []byte) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	manifest = generatedName.ReplaceAll(manifest, []byte("$1"))
	for document := range strings.SplitSeq("\n"+string(manifest), "\n---\n") {
		var object unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal([]byte(document), &object.Object))
		if object.Object == nil {
			continue
		}
		annotations := object.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		object.SetAnnotations(annotations)
		if len(annotations) == 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
		}
		if template, found, _ := unstructured.NestedMap(object.Object, "spec", "template"); found {
			unstructured.RemoveNestedField(template, "metadata", "annotations", "checksum/settings")
			if annotations, _, _ := unstructured.NestedMap(template, "metadata", "annotations"); len(annotations) == 0 {
				unstructured.RemoveNestedField(template, "metadata", "annotations")
			}
			containers, _, _ := unstructured.NestedSlice(template, "spec", "containers")
			for _, container := range containers {
				fields := container.(map[string]any)
				fields["image"] = strings.TrimSuffix(fmt.Sprint(fields["image"]), ":dev")
				sortByName(fields["env"])
			}
			require.NoError(t, unstructured.SetNestedSlice(template, containers, "spec", "containers"))
			require.NoError(t, unstructured.SetNestedMap(object.Object, template, "spec", "template"))
		}
		key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		require.NotContains(t, objects, key, "twice")
		objects[key] = object.Object
	}
	return objects
}

// generatedName is a ConfigMap's that kustomize names by what is in it.
var generatedName = regexp.MustCompile(`(ostinato-namespaces)-[a-z0-9]{10}`)

// sortByName puts a container's variables into an order that both have.
func sortByName(variables any) {
	entries, ok := variables.([]any)
	if ok {
		slices.SortFunc(entries, func(a, b any) int {
			return strings.Compare(fmt.Sprint(a.(map[string]any)["name"]), fmt.Sprint(b.(map[string]any)["name"]))
		})
	}
}

func TestTheChartRefusesValuesThatItDoesNotKnow(t *testing.T) {
	for value, want := range map[string]string{
		"worker.replica=3":                              "additional properties 'replica' not allowed",
		"temporal.address=temporal":                     "does not match pattern",
		"temporal.embedded.retention=3d":                "does not match pattern",
		"temporal.embedded.retention=30m":               "does not match pattern",
		"temporal.env.TEMPORAL_ADDRESS=x":               "invalid propertyName",
		"temporal.env.TEMPORAL_TLS_SERVER_NAME=x":       "has its own TLS and no keys",
		"worker.env[0].name=GOMEMLIMIT":                 "'not' failed",
		`bridge.podAnnotations.prometheus\.io/scrape=x`: "invalid propertyName",
		"namespaces={Billing}":                          "does not match pattern",
		"image.digests.temporal=sha256:x":               "does not match pattern",
		"temporal.env.ADDRESS=x":                        "invalid propertyName",
		"worker.goMemoryLimit=900M":                     "does not match pattern",
		"runAsUser=0":                                   "minimum: got 0, want 1",
		"worker.env[0].value=1":                         "missing property 'name'",
		"payloadEncryption.enabled=yes":                 "got string, want boolean",
	} {
		t.Run(value, func(t *testing.T) {
			_, err := helm(t, "template", "ostinato", "chart", "--set", value)
			assert.ErrorContains(t, err, want)
		})
	}
}

// TestProductionNeedsATemporalThatIsNoVolume of the cluster's: yours, or one on PostgreSQL.
func TestProductionNeedsATemporalThatIsNoVolume(t *testing.T) {
	production := []string{"template", "ostinato", "chart", "--values", "chart/values-production.yaml"}
	_, err := helm(t, production...)
	assert.ErrorContains(t, err, "name your Temporal by temporal.address, or a PostgreSQL server for the chart's own by temporal.embedded.postgresql.secretName")
	for value, own := range map[string]bool{"temporal.address=temporal-frontend.temporal:7233": false, "temporal.embedded.postgresql.secretName=database": true} {
		rendered, err := helm(t, append(production, "--set", value)...)
		require.NoError(t, err)
		objects := byName(t, rendered)
		assert.Equal(t, own, objects["StatefulSet default/ostinato-temporal"] != nil, value)
		assert.NotContains(t, objects, "PersistentVolumeClaim default/ostinato-temporal", value)
		for _, program := range []string{"worker", "bridge"} {
			replicas, _, _ := unstructured.NestedFieldNoCopy(objects["Deployment default/ostinato-"+program], "spec", "replicas")
			assert.EqualValues(t, 2, replicas, "%s: %s", value, program)
		}
	}
}

// TestEveryContainerSaysWhatItNeeds, those of helm test too: a ResourceQuota admits no other.
func TestEveryContainerSaysWhatItNeeds(t *testing.T) {
	rendered, err := helm(t, "template", "ostinato", "chart", "--set", "codecServer.enabled=true")
	require.NoError(t, err)
	seen := 0
	for document := range strings.SplitSeq("\n"+string(rendered), "\n---\n") {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		for _, container := range containersOf(object) {
			seen++
			for _, needed := range [][]string{{"requests", "cpu"}, {"requests", "memory"}, {"limits", "memory"}} {
				_, said, _ := unstructured.NestedFieldNoCopy(container, append([]string{"resources"}, needed...)...)
				assert.True(t, said, "%v of container %v of %v", needed, container["name"], object["metadata"])
			}
		}
	}
	assert.GreaterOrEqual(t, seen, 6, "worker, bridge, Temporal, codec server, and two of helm test")
}

// containersOf are the containers of whatever makes Pods. A schema has properties of the name too.
func containersOf(node any) (found []map[string]any) {
	switch node := node.(type) {
	case map[string]any:
		if containers, listed := node["containers"].([]any); listed {
			for _, container := range containers {
				found = append(found, container.(map[string]any))
			}
		}
		for _, child := range node {
			found = append(found, containersOf(child)...)
		}
	case []any:
		for _, child := range node {
			found = append(found, containersOf(child)...)
		}
	}
	return found
}

// TestTheChartTakesWhatAPlatformAsksFor: what no component of kustomize has.
func TestTheChartTakesWhatAPlatformAsksFor(t *testing.T) {
	rendered := string(render(t, "runAsUser=null", "image.registry=registry.example/team", "image.digests.ostinato=sha256:"+strings.Repeat("a", 64),
		"imagePullSecrets[0].name=pull", "worker.env[0].name=OSTINATO_WATCH_SHARDS", "worker.env[0].value=4", "bridge.podLabels.team=batch",
		"worker.nodeSelector.pool=system", "crds.keep=false"))
	for _, want := range []string{
		"image: registry.example/team/ostinato@sha256:" + strings.Repeat("a", 64), "imagePullSecrets:\n      - name: pull",
		"- name: OSTINATO_WATCH_SHARDS\n          value: 4", "team: batch", "pool: system",
	} {
		assert.Contains(t, rendered, want)
	}
	_, workloads, found := strings.Cut(rendered, "kind: Deployment")
	require.True(t, found)
	assert.NotContains(t, workloads, "runAsUser:")
	assert.NotContains(t, rendered, "resource-policy")
}

// TestNothingInTheChartIsRandomOrVanishes: Argo CD renders it again and again, and compares.
func TestNothingInTheChartIsRandomOrVanishes(t *testing.T) {
	assert.Equal(t, string(render(t)), string(render(t)))
	for name, object := range byName(t, render(t, "takeover.jobs=true", "codecServer.enabled=true", "metrics.authentication=true")) {
		assert.NotEqual(t, "Job", object["kind"], name)
	}
}
