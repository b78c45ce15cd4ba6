package kustomized_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/cmd/ostinato/internal/kustomized"
)

// What a kustomization loses in our kind is found by the build that it would have in the native one.
func TestWhatKustomizeLosesIsFound(t *testing.T) {
	for folder, want := range map[string]struct {
		namespace, name string
		lost            []string
	}{
		"testdata/base": {name: "report"},
		"testdata/production": {namespace: "prod", name: "report", lost: []string{
			"containers[main].args", "containers[main].env[A]", "containers[main].envFrom", "containers[main].image", "containers[side]",
			"spec.jobTemplate.metadata", "spec.jobTemplate.spec.template.metadata",
		}},
		"../../../../deploy/testdata/move/moved": {namespace: "prod", name: "nightly-report-blue"},
		"testdata/both":                          {name: "report"},
	} {
		t.Run(folder, func(t *testing.T) {
			built, err := kustomized.Build(folder)
			require.NoError(t, err)
			assert.Contains(t, string(built.Manifests), "batch.ostinato.dev/v1")
			assert.Equal(t, want.lost, built.Lost(want.namespace, want.name))
		})
	}
}

func TestAFolderThatCanNotBeBuilt(t *testing.T) {
	_, err := kustomized.Build("testdata/broken")
	assert.ErrorContains(t, err, "but could if its CronJobs were of batch/v1")
	_, err = kustomized.Build("testdata")
	assert.ErrorContains(t, err, "build the kustomization testdata")
	assert.NotContains(t, err.Error(), "but could")
}

func TestWhichPathsAreFolders(t *testing.T) {
	assert.True(t, kustomized.IsFolder("testdata"))
	assert.False(t, kustomized.IsFolder("kustomized.go"))
	assert.False(t, kustomized.IsFolder("nowhere"))
}
