package deploy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	nativeLine = "apiVersion: batch/v1\n"
	ourLine    = "apiVersion: batch.ostinato.dev/v1\n"
)

// build is what `kubectl kustomize` prints of a folder.
func build(t *testing.T, files filesys.FileSystem, folder string) string {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
	require.NoError(t, err)
	text, err := built.AsYaml()
	require.NoError(t, err)
	return string(text)
}

// The component in a last overlay changes the apiVersion of CronJobs and nothing else:
// patches, images, generators, labels, names and replacements have been applied to the
// native kind.
func TestAMoveChangesTheAPIVersionAlone(t *testing.T) {
	disk := filesys.MakeFsOnDisk()
	native, moved := build(t, disk, "testdata/move/production"), build(t, disk, "testdata/move/moved")
	assert.Equal(t, 2, strings.Count(native, nativeLine))
	assert.Equal(t, strings.ReplaceAll(native, nativeLine, ourLine), moved)

	// What an overlay can lose is in the native build.
	for _, kept := range []string{
		"name: side", "image: mirror.example/side:2", "name: A\n", "name: C\n", "value: nightly-report-blue", "mountPath: /archive",
		"name: nightly-report-blue-", "secretName: nightly-database-blue-", "claimName: nightly-archive-blue", "serviceAccountName: nightly-report-blue",
		"backoffLimit: 1", "memory: 512Mi", "schedule: 30 1 * * *", "namespace: prod", "example.com/owner: finance",
	} {
		assert.Contains(t, native, kept)
	}
	assert.Equal(t, 2, strings.Count(native, "            team: finance"), "both Pod templates are labelled")
}

// The same manifests with the line edited in place lose a container and labels without a
// word, since kustomize merges lists only of kinds that it knows. docs/move.md warns of it.
func TestTheLineEditedInsideAnOverlayLosesContainers(t *testing.T) {
	files := filesys.MakeFsInMemory()
	for _, name := range []string{
		"base/kustomization.yaml", "base/cronjobs.yaml", "base/account.yaml", "production/kustomization.yaml", "production/report.yaml",
	} {
		text, err := filesys.MakeFsOnDisk().ReadFile("testdata/move/" + name)
		require.NoError(t, err)
		edited := strings.ReplaceAll(string(text), nativeLine, ourLine)
		// The patch has no environment variable B for the replacement to fill.
		edited, _, _ = strings.Cut(edited, "replacements:")
		require.NoError(t, files.WriteFile("/"+name, []byte(edited)))
	}
	edited := build(t, files, "/production")
	var report batchv1.CronJob
	for document := range strings.SplitSeq(edited, "---\n") {
		if strings.Contains(document, "schedule: 30 1 * * *") {
			require.NoError(t, yaml.Unmarshal([]byte(document), &report))
		}
	}
	template := report.Spec.JobTemplate.Spec.Template
	require.Len(t, template.Spec.Containers, 1)
	assert.Empty(t, template.Spec.Containers[0].EnvFrom)
	assert.Empty(t, template.Spec.Containers[0].VolumeMounts)
	assert.Empty(t, template.Labels)
}
