package devstack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManifestsAreAppliedWhereTheirKindsAreServed(t *testing.T) {
	for file, want := range map[string]string{
		"crd/batch.ostinato.dev_cronjobs.yaml": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cronjobs.batch.ostinato.dev",
		"base/admission-policy.yaml":           "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/ostinato-worker-pods",
		"samples/hello.yaml":                   "/apis/batch.ostinato.dev/v1/namespaces/default/cronjobs/hello",
		"samples/fails.yaml":                   "/apis/batch/v1/namespaces/default/jobs/fails",
	} {
		t.Run(file, func(t *testing.T) {
			manifest, err := os.ReadFile(filepath.Join("..", "..", "deploy", file))
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(manifest), "\n---\n")
			if path, err := resourcePath([]byte(first)); err != nil || path != want {
				t.Errorf("%s, %v; want %s", path, err, want)
			}
		})
	}
	if path, err := resourcePath([]byte("not: [a manifest")); err == nil {
		t.Errorf("what is no YAML has path %s", path)
	}
}
