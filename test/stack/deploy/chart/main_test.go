// Package chart installs the Helm chart by Helm's own command on a real API server: Helm 4, or what OSTINATO_HELM names. It runs etcd and the API server and nothing else:
// what is seen is what Helm does to objects.
package chart

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"ostinato.dev/ostinato/test/stack/deploy/bare"
)

var (
	client dynamic.Interface
	// binaries are the tools by name, environment is what they are run with.
	binaries    map[string]string
	environment []string
	// helmTool is the tool that installs: Helm 4 or Helm 3.
	helmTool = cmp.Or(os.Getenv("OSTINATO_HELM"), "helm")
)

func TestMain(m *testing.M) {
	os.Exit(bare.Main(m, func(_ context.Context, plane bare.Plane) (err error) {
		binaries = plane.Binaries
		environment = append(os.Environ(), "KUBECONFIG="+plane.KubeconfigPath(), "HELM_CONFIG_HOME="+plane.Dir, "HELM_CACHE_HOME="+plane.Dir, "HELM_DATA_HOME="+plane.Dir)
		client, err = dynamic.NewForConfig(plane.RESTConfig())
		return err
	}, helmTool, "kubectl"))
}

// helm runs it in the release's namespace, and returns what it printed, errors too.
func helm(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	return run(t, binaries[helmTool], append(arguments, "--namespace="+namespace)...)
}

// run runs a command, and returns what it printed, errors too.
func run(t *testing.T, name string, arguments ...string) (string, error) {
	t.Helper()
	started := time.Now()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Env = environment
	printed, err := command.CombinedOutput()
	t.Logf("%s %s: %s", filepath.Base(name), arguments[0], time.Since(started).Round(time.Millisecond))
	return string(printed), err
}
