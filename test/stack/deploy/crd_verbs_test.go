package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/harness"
)

// kubectl applies, compares and edits a CronJob as it does any object, and waits for its conditions.
func TestVerbsOfKubectl(t *testing.T) {
	namespace := stack.Namespace(t)
	file := filepath.Join(t.TempDir(), "cronjob.yaml")
	manifest := `apiVersion: batch.ostinato.dev/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}
`
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubectl := func(arguments ...string) (string, error) {
		return stack.Stack.Kubectl(t.Context(), append(arguments, "--namespace", namespace)...)
	}
	must := func(arguments ...string) string {
		t.Helper()
		output, err := kubectl(arguments...)
		if err != nil {
			t.Fatalf("kubectl %s: %v", strings.Join(arguments, " "), err)
		}
		return output
	}
	scheduled := func(want string) {
		t.Helper()
		harness.Eventually(t, harness.Prompt, func(context.Context) error {
			output, err := kubectl("get", "ocj/report", "--output=jsonpath={.spec.schedule} {.status.next}")
			if err == nil && output != want {
				err = fmt.Errorf("the schedule and the next time are %q, want %q", output, want)
			}
			return err
		})
	}

	write(manifest)
	must("apply", "-f", file)
	must("wait", "ocj/report", "--for=condition=Ready", "--timeout=60s")
	if output, err := kubectl("diff", "-f", file); err != nil {
		t.Errorf("kubectl diff of what was applied: %v\n%s", err, output)
	}
	write(strings.Replace(manifest, "0 0 1 1 *", "0 0 30 2 *", 1))
	if _, err := kubectl("diff", "-f", file); err == nil {
		t.Error("kubectl diff of a change ends as if there were none")
	}
	must("apply", "-f", file)
	must("wait", "ocj/report", "--for=condition=Stalled", "--timeout=60s")
	scheduled("0 0 30 2 * NeverFires")

	t.Setenv("KUBE_EDITOR", "sed -i -e 's/schedule: .*/schedule: 0 0 31 12 */'")
	must("edit", "ocj/report")
	must("wait", "ocj/report", "--for=condition=Ready", "--timeout=60s")
	if output := must("get", "ocj/report", "--output=jsonpath={.spec.schedule}"); output != "0 0 31 12 *" {
		t.Errorf("the edited schedule is %q", output)
	}
}
