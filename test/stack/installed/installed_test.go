//go:build linux

package installed

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/harness"
)

var (
	cronJobs = schema.GroupVersionResource{Group: "batch.ostinato.dev", Version: "v1", Resource: "cronjobs"}
	jobs     = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pods     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// volume is a default storage class and one volume of it, which a cluster has from its provisioner.
const volume = `
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
  provisioner: kubernetes.io/no-provisioner
  volumeBindingMode: WaitForFirstConsumer
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: local-0}
  spec:
    capacity: {storage: 10Gi}
    accessModes: [ReadWriteOnce]
    persistentVolumeReclaimPolicy: Retain
    storageClassName: local
    local: {path: /var/lib/volumes/0}
    nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}
- apiVersion: v1
  kind: Namespace
  metadata: {name: ostinato-system, labels: {pod-security.kubernetes.io/enforce: restricted}}
`

const minutely = `
apiVersion: batch.ostinato.dev/v1
kind: CronJob
metadata: {name: minutely}
spec:
  schedule: "* * * * *"
  concurrencyPolicy: Allow
  successfulJobsHistoryLimit: 100
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1.28", command: [date]}]}}}}
`

// grace is how long a Pod of the product that was deleted may go on.
const grace = 45 * time.Second

// TestInstalledAndRunAndUpgradedAndUninstalled: helm install and nothing else, the first run, an upgrade and the loss of every Pod of the
// product while a CronJob runs every minute, and an uninstall that leaves objects, Jobs and Pods.
func TestInstalledAndRunAndUpgradedAndUninstalled(t *testing.T) {
	apply(t, volume)
	began := time.Now()
	helm(t, "install", release, cluster.chart, "--version="+chartVersion, "--plain-http", "--set=image.registry=localhost", "--wait", "--timeout=5m")
	t.Logf("installed after %s", time.Since(began).Round(100*time.Millisecond))
	helm(t, "test", release, "--timeout=4m")
	t.Logf("the first run is Complete after %s", time.Since(began).Round(100*time.Millisecond))

	create(t, cronJobs, "default", decode(t, minutely))
	created := time.Now()
	// Before its first time there is nothing to do.
	t.Run("people come to Temporal", peopleComeToTemporal)
	awaitRun(t, created)
	// As a person outside the cluster, who is known to Temporal by a certificate that the API server vouches for.
	person(t, "run", "minutely", "--namespace=default", "--wait", "--timeout=3m")
	t.Logf("status:\n%s", person(t, "status"))
	helm(t, "upgrade", release, cluster.chart, "--version="+chartVersion, "--plain-http", "--reuse-values", "--set=worker.podAnnotations.upgraded=once,bridge.podAnnotations.upgraded=once,temporal.embedded.podAnnotations.upgraded=once",
		"--wait", "--timeout=5m")
	awaitRun(t, time.Now())
	for _, name := range []string{"ostinato-temporal", "ostinato-worker", "ostinato-bridge"} {
		selector := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name}
		if err := cluster.client.Resource(pods).Namespace(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, selector); err != nil {
			t.Fatal(err)
		}
	}
	next := awaitRun(t, time.Now().Add(grace))
	onceEach(t, next)

	helm(t, "uninstall", release, "--wait", "--timeout=5m")
	if _, err := cluster.client.Resource(cronJobs).Namespace("default").Get(t.Context(), "minutely", metav1.GetOptions{}); err != nil {
		t.Errorf("the CronJob after the uninstall: %v", err)
	}
	onceEach(t, next)
}

// person runs the command as an administrator of the cluster, and returns what it printed.
func person(t *testing.T, arguments ...string) string {
	t.Helper()
	program := exec.CommandContext(t.Context(), cluster.command, arguments...)
	program.Env = cluster.environment
	printed, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("ostinato %v: %v: %s", arguments, err, printed)
	}
	return string(printed)
}

func helm(t *testing.T, arguments ...string) {
	t.Helper()
	if err := command(t.Context(), "helm", append(arguments, "--namespace="+namespace)...); err != nil {
		t.Fatalf("%v\n%s", err, told(t))
	}
}

// told is how the product's Pods are, for a failure.
func told(t *testing.T) (text string) {
	list, err := cluster.client.Resource(pods).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, pod := range list.Items {
		status, err := yaml.Marshal(pod.Object["status"])
		text += fmt.Sprintf("%s: %s %v\n", pod.GetName(), status, err)
	}
	return text
}

func decode(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// apply creates the objects of a list.
func apply(t *testing.T, list string) {
	t.Helper()
	var objects []map[string]any
	if err := yaml.Unmarshal([]byte(list), &objects); err != nil {
		t.Fatal(err)
	}
	resources := map[string]schema.GroupVersionResource{
		"StorageClass":     {Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
		"PersistentVolume": {Version: "v1", Resource: "persistentvolumes"},
		"Namespace":        {Version: "v1", Resource: "namespaces"},
	}
	for _, object := range objects {
		create(t, resources[fmt.Sprint(object["kind"])], "", &unstructured.Unstructured{Object: object})
	}
}

func create(t *testing.T, resource schema.GroupVersionResource, namespace string, object *unstructured.Unstructured) {
	t.Helper()
	if _, err := cluster.client.Resource(resource).Namespace(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitRun waits for a Complete Job of the minutely CronJob that is due after a time, and returns its scheduled time.
func awaitRun(t *testing.T, after time.Time) (scheduled time.Time) {
	t.Helper()
	harness.Eventually(t, harness.NextMinute+harness.Recovery, func(ctx context.Context) error {
		for at, complete := range runs(t) {
			if complete > 0 && at.After(after) {
				scheduled = at
				return nil
			}
		}
		return fmt.Errorf("no run after %s is Complete: %v\n%s", after.Format(time.TimeOnly), runs(t), told(t))
	})
	return scheduled
}

// runs are the Jobs of the CronJob by scheduled time, with how many of them are Complete.
func runs(t *testing.T) map[time.Time]int {
	t.Helper()
	found := map[time.Time]int{}
	for at, all := range jobsByTime(t) {
		found[at] = 0
		for _, job := range all {
			if hasCondition(&job, "Complete") {
				found[at]++
			}
		}
	}
	return found
}

func hasCondition(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == kind && fields["status"] == "True"
	})
}

func jobsByTime(t *testing.T) map[time.Time][]unstructured.Unstructured {
	t.Helper()
	list, err := cluster.client.Resource(jobs).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[time.Time][]unstructured.Unstructured{}
	for _, job := range list.Items {
		at, err := time.Parse(time.RFC3339, job.GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"])
		if err != nil {
			t.Fatal(err)
		}
		found[at] = append(found[at], job)
	}
	return found
}

// onceEach checks that each minute from the first run to a time has one Job.
func onceEach(t *testing.T, last time.Time) {
	t.Helper()
	byTime := jobsByTime(t)
	first := last
	for at := range byTime {
		if at.Before(first) {
			first = at
		}
	}
	for at := first; !at.After(last); at = at.Add(time.Minute) {
		if len(byTime[at]) != 1 {
			t.Errorf("%s has %d Jobs", at.Format(time.TimeOnly), len(byTime[at]))
		}
	}
}
