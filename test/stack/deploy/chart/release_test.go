package chart

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"ostinato.dev/ostinato/dev/devstack/await"
)

const (
	release = "ostinato"
	// namespace is another than the manifests for kustomize have.
	namespace = "batch-system"
	chart     = "../../../../deploy/chart"
	another   = "--set=temporal.address=temporal-frontend.temporal:7233"
)

// servedWithin bounds the time until a CRD is served, for which a free machine needs a second or two.
const servedWithin = time.Minute

const pollInterval = 100 * time.Millisecond

var (
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	cronJobs     = schema.GroupVersionResource{Group: "batch.ostinato.dev", Version: "v1", Resource: "cronjobs"}
	bindings     = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	policies     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
)

// TestTheLifeOfARelease: install, upgrade, roll back, uninstall and install again. The CronJobs outlive it.
func TestTheLifeOfARelease(t *testing.T) {
	succeeds(t, "install", release, chart, another, "--create-namespace")
	address(t, "temporal-frontend.temporal:7233")
	for _, account := range []string{"ostinato-worker", "ostinato-bridge"} {
		binding := get(t, bindings, "", account)
		subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
		if len(subjects) != 1 || subjects[0].(map[string]any)["namespace"] != namespace {
			t.Errorf("%s is bound to %v", account, subjects)
		}
	}
	policy := get(t, policies, "", "ostinato-worker-pods")
	if text, err := policy.MarshalJSON(); err != nil || !strings.Contains(string(text), "system:serviceaccount:"+namespace+":ostinato-worker") {
		t.Errorf("the policy does not name the worker of %s: %s %v", namespace, text, err)
	}
	createCronJob(t, "kept")

	refused, err := helm(t, "upgrade", release, chart, "--reuse-values", "--set=worker.replica=3")
	if err == nil || !strings.Contains(refused, "additional properties 'replica' not allowed") {
		t.Errorf("an unknown value: %v: %s", err, refused)
	}
	before := get(t, deployments, namespace, "ostinato-worker")
	succeeds(t, "upgrade", release, chart, "--reuse-values", "--set=worker.replicas=3,temporal.address=larger.temporal:7233")
	address(t, "larger.temporal:7233")
	worker := get(t, deployments, namespace, "ostinato-worker")
	if replicas, _, _ := unstructured.NestedInt64(worker.Object, "spec", "replicas"); replicas != 3 {
		t.Errorf("%d workers, want 3", replicas)
	}
	if settingsOf(before) == settingsOf(worker) {
		t.Error("Pods go on with the old address: their template has not changed")
	}
	succeeds(t, "rollback", release, "1")
	address(t, "temporal-frontend.temporal:7233")

	succeeds(t, "uninstall", release)
	if _, err := client.Resource(deployments).Namespace(namespace).Get(t.Context(), "ostinato-worker", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the worker is there after the uninstall: %v", err)
	}
	get(t, cronJobs, "default", "kept")
	succeeds(t, "install", release, chart, another)
	get(t, cronJobs, "default", "kept")
	succeeds(t, "uninstall", release)
}

// TestEveryComponentIsTaken by the API server, all at once.
func TestEveryComponentIsTaken(t *testing.T) {
	succeeds(t, "install", release, chart, another, "--create-namespace", "--set=namespaces={default,kube-public}", "--set=takeover.jobs=true,takeover.cronJobs=true",
		"--set=podLogs=false,stampedUsers=true,networkPolicy.enabled=true,metrics.authentication=true", "--set=payloadEncryption.enabled=true,codecServer.enabled=true")
	succeeds(t, "uninstall", release)
}

func succeeds(t *testing.T, arguments ...string) {
	t.Helper()
	if printed, err := helm(t, arguments...); err != nil {
		t.Fatalf("helm %v: %v: %s", arguments, err, printed)
	}
}

func get(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := client.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// address checks where worker and bridge are told that Temporal is.
func address(t *testing.T, want string) {
	t.Helper()
	settings := get(t, configMaps, namespace, "ostinato-temporal")
	if got, _, _ := unstructured.NestedString(settings.Object, "data", "TEMPORAL_ADDRESS"); got != want {
		t.Errorf("Temporal is at %q, want %q", got, want)
	}
}

func settingsOf(deployment *unstructured.Unstructured) string {
	sum, _, _ := unstructured.NestedString(deployment.Object, "spec", "template", "metadata", "annotations", "checksum/settings")
	return sum
}

// createCronJob does so as soon as the definition is served.
func createCronJob(t *testing.T, name string) {
	t.Helper()
	cronJob := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch.ostinato.dev/v1", "kind": "CronJob", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"schedule": "@yearly", "jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "busybox"}},
		}}}}},
	}}
	ctx, cancel := context.WithTimeout(t.Context(), servedWithin)
	defer cancel()
	if err := await.Success(ctx, pollInterval, func(ctx context.Context) error {
		_, err := client.Resource(cronJobs).Namespace("default").Create(ctx, cronJob, metav1.CreateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestTheEmbeddedTemporalChangesItsDatabase by upgrades, and to another Temporal: the API server takes each, and the volume stays.
func TestTheEmbeddedTemporalChangesItsDatabase(t *testing.T) {
	succeeds(t, "install", release, chart, "--create-namespace")
	address(t, "ostinato-temporal:7233")
	succeeds(t, "upgrade", release, chart, "--set=temporal.embedded.postgresql.secretName=database")
	get(t, claims, namespace, "ostinato-temporal")
	succeeds(t, "upgrade", release, chart)
	succeeds(t, "upgrade", release, chart, another)
	if _, err := client.Resource(statefulSets).Namespace(namespace).Get(t.Context(), "ostinato-temporal", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the embedded Temporal is there beside another: %v", err)
	}
	succeeds(t, "rollback", release, "1")
	succeeds(t, "uninstall", release)
	get(t, claims, namespace, "ostinato-temporal")
}
