package encryption

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/codecserver"
)

// The ostinato command sends and reads encrypted payloads through a codec server, and says what is missing where none is named.
func TestTheOstinatoCommandReadsThroughACodecServer(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.AddCronJob(t, harness.NewCronJob(namespace, "fails", harness.Yearly,
		harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(0), harness.PodAnnotation("ostinato.dev/test-exit-message", lastWords))))
	program := filepath.Join(t.TempDir(), "ostinato")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "ostinato.dev/ostinato/cmd/ostinato").CombinedOutput(); err != nil {
		t.Fatalf("build cmd/ostinato: %v\n%s", err, output)
	}
	server := httptest.NewServer(codecserver.NewHandler(codec, nil))
	defer server.Close()
	run := func(codecEndpoint string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), program, append(arguments, "--namespace", namespace, "--codec-endpoint", codecEndpoint)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+stack.Stack.KubeconfigPath(), "TEMPORAL_ADDRESS="+stack.Stack.TemporalAddress())
		output, err := command.CombinedOutput()
		return string(output) + "\n" + errorText(err)
	}

	if output := run(server.URL, "run", "fails", "--wait", "--by", "ada", "--note", "for the auditors"); !strings.Contains(output, "BackoffLimitExceeded") {
		t.Errorf("a run through the codec server: %s", output)
	}
	recorded := historyOf(t, harness.CronJobWorkflow(namespace, "fails"))
	if strings.Contains(recorded.String(), "for the auditors") {
		t.Error("the history holds what the person has said")
	}
	if output, err := stack.Stack.Kubectl(t.Context(), "delete", "jobs", "-n", namespace, "--all", "--cascade=foreground"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if output := run(server.URL, "logs", "fails"); !strings.Contains(output, lastWords) {
		t.Errorf("evidence through the codec server: %s", output)
	}
	if output := run("", "logs", "fails"); !strings.Contains(output, "name a codec server by --codec-endpoint") || strings.Contains(output, lastWords) {
		t.Errorf("evidence without one: %s", output)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
