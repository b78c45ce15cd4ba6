package deploy

import (
	"strings"
	"testing"

	"ostinato.dev/ostinato/test/deploy/deployment"
)

// The manifests apply without an error or a warning, also with fields that are
// not known refused.
func TestManifestsApply(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the overlay warns:\n%s", installOutput)
	}
	for name, test := range map[string]struct {
		folder     string
		components []string
	}{
		"base":                  {folder: deployment.Base},
		"example":               {folder: deployment.Example},
		"take-over":             {deployment.Base, []string{deployment.TakeOverJobs}},
		"without logs":          {deployment.Example, []string{deployment.WithoutPodLogs}},
		"take-over without log": {deployment.Example, []string{deployment.TakeOverJobs, deployment.WithoutPodLogs}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := deployment.Render(t.Context(), test.folder, test.components...)
			if err != nil {
				t.Fatal(err)
			}
			output, err := deployment.Apply(t.Context(), stack.Stack, rendered, "--dry-run=server")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(output, "Warning:") {
				t.Errorf("kubectl warns:\n%s", output)
			}
		})
	}
}

// Without the right to read logs nothing asks for them either.
func TestLogsCanBeLeftOut(t *testing.T) {
	rendered, err := deployment.Render(t.Context(), deployment.Base, deployment.WithoutPodLogs)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(rendered); strings.Contains(text, "pods/log") || strings.Contains(text, "ostinato-worker-logs") ||
		!strings.Contains(text, "name: OSTINATO_EVIDENCE_LOG_LINES\n          value: \"0\"") {
		t.Errorf("the right is not left out, or logs are not switched off:\n%s", text)
	}
}
