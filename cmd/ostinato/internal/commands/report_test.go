package commands

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/cmd/ostinato/internal/bundle"
)

// installed gives the world a worker and a bridge that was restarted, Events, and secrets where people have them.
func installed(w *world) {
	natives("nightly")(w)
	w.api.keeps = false
	w.api.cronJobs[0].Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "report:1", Args: []string{"--password=hunter2"}, Env: []corev1.EnvVar{{Name: "REGION", Value: "eu-hunter2"}},
	}}
	w.api.deployments = []appsv1.Deployment{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ostinato-system", Name: "ostinato-worker"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "worker", Args: []string{"--accept-signals=suspend"}, Env: []corev1.EnvVar{{Name: "TEMPORAL_ADDRESS", Value: "temporal:7233"}, {Name: "TEMPORAL_API_KEY", Value: "hunter2"}},
		}}}}},
	}}
	w.api.events = []corev1.Event{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "one"}, InvolvedObject: corev1.ObjectReference{Kind: "CronJob", Name: "report"}, Reason: "SuccessfulCreate",
	}, {
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}, InvolvedObject: corev1.ObjectReference{Kind: "Secret", Name: "passwords"}, Reason: "Rotated",
	}}
	for _, name := range []string{"worker", "bridge"} {
		pod := podOf("", "ostinato-"+name+"-0", 0)
		pod.Namespace, pod.Labels = "ostinato-system", map[string]string{"app.kubernetes.io/name": "ostinato-" + name}
		w.api.programs = append(w.api.programs, pod)
		w.api.logs[pod.Name+" main"] = `2026-03-02T09:29:00Z {"level":"INFO","msg":"started","token":"hunter2"}` + "\n"
	}
	w.api.programs[1].Status.ContainerStatuses[0].RestartCount = 1
}

// viewer may see CronJobs, and nothing else.
func viewer(w *world) {
	installed(w)
	w.api.refuse = func(asked string) *metav1.Status {
		if asked == "list cronjobs" || asked == "get version" || asked == "create selfsubjectaccessreviews" {
			return nil
		}
		return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "forbidden: you may not " + asked}
	}
}

var reportScenes = []scene{
	{row: "report", given: installed, arguments: "report -f /dev/null"},
	{row: "report", given: func(w *world) { installed(w); away(w) }, arguments: "report -f /dev/null"},
	{row: "report", given: viewer, arguments: "report -f /dev/null"},
	{row: "report", given: installed, arguments: "report -f /nowhere/report.tar.gz"},
	{arguments: "report now"},
}

// reported writes a report, and returns its files.
func reported(t *testing.T, w *world, arguments ...string) map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	_, complaints, code := w.run(t, append([]string{"report", "-f", path}, arguments...)...)
	require.Zero(t, code, complaints)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "others on the machine can't read it")
	zipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	files := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		files[strings.TrimPrefix(header.Name, "ostinato-report/")] = string(content)
	}
}

func TestAReportHasNoSecrets(t *testing.T) {
	w := newWorld(t)
	installed(w)
	files := reported(t, w)
	var listed []string
	for name, content := range files {
		listed = append(listed, name)
		assert.NotContains(t, content, "hunter2", name)
	}
	slices.Sort(listed)
	assert.Equal(t, []string{
		"cronjobs.yaml", "events.yaml", "health.txt", "jobs.yaml", "ledgers/shop_import.json", "ledgers/shop_orders.json", "ledgers/shop_report.json", "manifest.yaml",
		"native-cronjobs.yaml", "pods.yaml", "status.txt", "system/deployments.yaml", "system/logs/ostinato-bridge-0.main.log",
		"system/logs/ostinato-bridge-0.main.previous.log", "system/logs/ostinato-worker-0.main.log", "system/pods.yaml", "versions.txt",
	}, listed)
	assert.Contains(t, files["system/deployments.yaml"], "temporal:7233")
	assert.Contains(t, files["system/deployments.yaml"], "--accept-signals=suspend")
	assert.Contains(t, files["cronjobs.yaml"], "name: REGION\n              value: "+bundle.Removed)
	assert.Contains(t, files["versions.txt"], "kubernetes: v1.37.2")
	assert.Contains(t, files["status.txt"], "orders")
	assert.NotContains(t, files["events.yaml"], "Rotated", "of Secrets it says nothing")
	for _, path := range w.api.paths {
		assert.NotContains(t, path, "secrets")
	}
}

func TestAReportHasValuesOfVariablesWhereTheyAreWanted(t *testing.T) {
	w := newWorld(t)
	installed(w)
	files := reported(t, w, "--with-env")
	assert.Contains(t, files["cronjobs.yaml"], "value: eu-hunter2")
	assert.Contains(t, files["cronjobs.yaml"], "--password="+bundle.Removed)
	assert.NotContains(t, files["system/deployments.yaml"], "hunter2")
}

func TestAReportSaysWhatCouldNotBeSeen(t *testing.T) {
	w := newWorld(t)
	viewer(w)
	away(w)
	manifest := reported(t, w)["manifest.yaml"]
	for _, unseen := range []string{"Jobs", "Pods", "Events", "CronJobs of batch/v1", "Deployments of Ostinato, with their flags", "Pods and logs of Ostinato", "ledgers, in Temporal"} {
		assert.Contains(t, manifest, "- what: "+unseen+"\n")
	}
	assert.Contains(t, manifest, "you may not list jobs")
	assert.Contains(t, manifest, "reach Temporal at 127.0.0.1:1")
}
