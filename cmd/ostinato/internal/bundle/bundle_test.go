package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/bundle"
)

// hidden is in every value of these tests that no archive may have.
const hidden = "hunter2"

func TestWhatLooksSecretInACommandLine(t *testing.T) {
	for text, want := range map[string]string{
		"--password=hunter2":                           "--password=(removed)",
		"--db-passwd hunter2":                          "--db-passwd (removed)",
		"--token hunter2 --verbose":                    "--token (removed) --verbose",
		"-pwd hunter2":                                 "-pwd (removed)",
		"--api-key=hunter2 --region=us":                "--api-key=(removed) --region=us",
		"API_KEY=hunter2":                              "API_KEY=(removed)",
		"postgres://ada:hunter2@db/shop":               "postgres://(removed)@db/shop",
		"https://hunter2@git.example.com/repo":         "https://(removed)@git.example.com/repo",
		"--header=Authorization:hunter2":               "--header=Authorization:(removed)",
		"hunter2hunter2hunter2hunter2hunter2hunter2h2": "(removed)",
		"--day=yesterday --namespace=shop --keep=3":    "--day=yesterday --namespace=shop --keep=3",
		"--metrics-address=:8080":                      "--metrics-address=:8080",
		"--temporal-address=temporal.svc:7233":         "--temporal-address=temporal.svc:7233",
		"--tls-key=hunter2":                            "--tls-key=(removed)",
		"/usr/local/bin/report --monkey=banana":        "/usr/local/bin/report --monkey=banana",
	} {
		assert.Equal(t, want, strings.Join(bundle.Arguments(strings.Fields(text)), " "))
	}
	for text, want := range map[string]string{
		"PGPASSWORD=hunter2 psql -h db":                        "PGPASSWORD=(removed) psql -h db",
		"curl -H 'Authorization: Bearer hunter2hunter2hunt' x": "curl -H 'Authorization: (removed)' x",
		`{"client_secret": "hunter2", "id": "7"}`:              `{"client_secret": "(removed)", "id": "7"}`,
		"run --token hunter2 --day 1":                          "run --token (removed) --day 1",
		"the run of 02:00 has no outcome":                      "the run of 02:00 has no outcome",
	} {
		assert.Equal(t, []string{want}, bundle.Arguments([]string{text}))
	}
}

func secretive() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"vault.example.com/token": hidden, "note": "password=" + hidden}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Env: []corev1.EnvVar{{Name: "GREETING", Value: hidden}}}},
			Containers: []corev1.Container{{
				Name: "main", Command: []string{"sh", "-c", "PASSWORD=" + hidden + " run"}, Args: []string{"--token", hidden},
				Env: []corev1.EnvVar{
					{Name: "GREETING", Value: hidden},
					{Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "password"}}},
				},
				LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: hidden}}}}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"--password=" + hidden}}}},
				Lifecycle:      &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: hidden}}}}},
			}},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: []corev1.EnvVar{{Name: "X", Value: hidden}}}}},
		},
	}
}

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "report", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": hidden, "session-token": hidden},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x", FieldsV1: metav1.NewFieldsV1(`{"` + hidden + `":{}}`)}},
	}
}

func TestNoObjectHasSecrets(t *testing.T) {
	template := batchv1.JobTemplateSpec{ObjectMeta: meta(), Spec: batchv1.JobSpec{Template: secretive()}}
	var options bundle.Options
	for name, object := range map[string]any{
		"CronJob":        options.CronJob(&ostinatov1.CronJob{ObjectMeta: meta(), Spec: ostinatov1.CronJobSpec{JobTemplate: template}}),
		"native CronJob": options.NativeCronJob(&batchv1.CronJob{ObjectMeta: meta(), Spec: batchv1.CronJobSpec{JobTemplate: template}}),
		"Job":            options.Job(&batchv1.Job{ObjectMeta: meta(), Spec: template.Spec}),
		"Pod": bundle.PodStatus(&corev1.Pod{ObjectMeta: meta(), Spec: secretive().Spec, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: hidden}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: hidden}},
		}}}}),
		"Event":      bundle.Event(&corev1.Event{ObjectMeta: meta(), Message: "exec failed: --password=" + hidden}),
		"Deployment": bundle.Deployment(&appsv1.Deployment{ObjectMeta: meta(), Spec: appsv1.DeploymentSpec{Template: secretive()}}),
	} {
		text, err := yaml.Marshal(object)
		require.NoError(t, err)
		assert.NotContains(t, string(text), hidden, name)
		assert.Contains(t, string(text), "name: report", name)
	}
}

func TestValuesOfVariablesAreThereWhereTheyAreWanted(t *testing.T) {
	env := bundle.Options{WithEnv: true}.Template(secretive()).Spec.Containers[0].Env
	assert.Equal(t, hidden, env[0].Value)
	env = bundle.Options{}.Template(secretive()).Spec.Containers[0].Env
	assert.Equal(t, bundle.Removed, env[0].Value)
	assert.NotNil(t, env[1].ValueFrom, "a reference names a Secret, and has nothing of it")
}

func TestVariablesOfWorkerAndBridge(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		kept  bool
	}{
		"OSTINATO_TAKEOVER":           {"jobs", true},
		"TEMPORAL_ADDRESS":            {"temporal:7233", true},
		"GOMEMLIMIT":                  {"460MiB", true},
		"TEMPORAL_API_KEY":            {hidden, false},
		"OSTINATO_CODEC_KEY":          {hidden, false},
		"OSTINATO_TEMPORAL_TLS_TOKEN": {hidden, false},
		"OSTINATO_PROXY":              {"http://ada:" + hidden + "@proxy", false},
		"HTTPS_PROXY":                 {"http://proxy", false},
		"DATABASE":                    {hidden, false},
	} {
		shown := bundle.Deployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: name, Value: test.value}}}},
		}}}})
		want := bundle.Removed
		if test.kept {
			want = test.value
		}
		assert.Equal(t, want, shown.Spec.Template.Spec.Containers[0].Env[0].Value, name)
	}
}

func TestTheOriginalIsLeftAsItIs(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: meta(), Spec: batchv1.JobSpec{Template: secretive()}}
	bundle.Options{}.Job(job)
	assert.Equal(t, meta(), job.ObjectMeta)
	assert.Equal(t, secretive(), job.Spec.Template)
}

// unpacked are the files of an archive.
func unpacked(t *testing.T, b *bundle.Bundle) map[string]string {
	t.Helper()
	var written bytes.Buffer
	require.NoError(t, b.Write(&written, "report", time.Unix(0, 0)))
	zipped, err := gzip.NewReader(&written)
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
		files[header.Name] = string(content)
	}
}

func TestTheManifestListsWhatIsThereAndWhatIsNot(t *testing.T) {
	var b bundle.Bundle
	bundle.AddObjects(&b, "jobs.yaml", "Jobs", []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, {ObjectMeta: metav1.ObjectMeta{Name: "two"}}})
	b.Add("../../etc/passwd", "a name that somebody has chosen", []byte("x\n"))
	b.Miss("the ledger", errors.New("no answer"))
	files := unpacked(t, &b)
	assert.Contains(t, files["report/jobs.yaml"], "name: two")
	assert.Equal(t, "x\n", files["report/etc/passwd"])
	assert.Contains(t, files["report/manifest.yaml"], "name: jobs.yaml\n  note: 2 Jobs\n")
	assert.Contains(t, files["report/manifest.yaml"], "unseen:\n- what: the ledger\n  why: no answer\n")
}

func TestFilesAreBounded(t *testing.T) {
	var b bundle.Bundle
	b.Add("log", "a log", []byte(strings.Repeat("0123456789\n", bundle.MaxFile/10)))
	var jobs []*batchv1.Job
	for range 40 {
		jobs = append(jobs, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "one", Annotations: map[string]string{"long": strings.Repeat("x", 100_000)}}})
	}
	bundle.AddObjects(&b, "jobs.yaml", "Jobs", jobs)
	for name, content := range unpacked(t, &b) {
		assert.LessOrEqual(t, len(content), bundle.MaxFile, name)
		assert.True(t, strings.HasSuffix(content, "\n"), "%s ends with a whole line", name)
	}
	assert.Contains(t, b.Files[0].Note, "cut, it had")
	assert.Contains(t, b.Files[1].Note, "40 Jobs; cut, the first 20 of 40")
}
