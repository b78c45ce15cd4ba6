package registry_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness/registry"
)

// TestHelmPushesAChartAndRendersIt from the registry, by its version.
func TestHelmPushesAChartAndRendersIt(t *testing.T) {
	tools, err := toolchain.Ensure(t.Context(), t.Output(), toolchain.Installing...)
	if err != nil {
		t.Fatal(err)
	}
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&registry.Registry{})
	defer server.Close()
	folder, charts := t.TempDir(), "oci://"+strings.TrimPrefix(server.URL, "http://")+"/team/charts"
	helm := func(arguments ...string) (string, error) {
		command := exec.CommandContext(t.Context(), tools["helm"], arguments...)
		command.Env = append(command.Environ(), "HELM_CONFIG_HOME="+folder, "HELM_CACHE_HOME="+folder, "HELM_DATA_HOME="+folder)
		printed, err := command.CombinedOutput()
		return string(printed), err
	}
	for _, arguments := range [][]string{
		{"package", filepath.Join(root, "deploy", "chart"), "--version=1.2.3", "--app-version=v1", "--destination=" + folder},
		{"push", filepath.Join(folder, "ostinato-1.2.3.tgz"), charts, "--plain-http"},
	} {
		if printed, err := helm(arguments...); err != nil {
			t.Fatalf("helm %v: %v: %s", arguments, err, printed)
		}
	}
	rendered, err := helm("template", "ostinato", charts+"/ostinato", "--version=1.2.3", "--plain-http")
	if err != nil || !strings.Contains(rendered, "image: ostinato:v1\n") {
		t.Errorf("%v: %.500s", err, rendered)
	}
	if printed, err := helm("template", "ostinato", charts+"/ostinato", "--version=1.2.4", "--plain-http"); err == nil {
		t.Errorf("a version that was never pushed is rendered: %.500s", printed)
	}
}

func TestABlobWithAnotherDigestIsRefused(t *testing.T) {
	answer := httptest.NewRecorder()
	(&registry.Registry{}).ServeHTTP(answer, httptest.NewRequest(http.MethodPut, "/v2/a/blobs/uploads/?digest=sha256:0", strings.NewReader("x")))
	if answer.Code != http.StatusBadRequest {
		t.Errorf("code %d", answer.Code)
	}
}
