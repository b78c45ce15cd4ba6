package cronjobs

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

const upstreamFile = "testdata/upstream.txt"

var update = flag.Bool("update", false, "write testdata anew")

// The file says what kube-controller-manager's CronJob controller does, as the pinned release has it.
func TestWhatUpstreamDoesIsUpToDate(t *testing.T) {
	played := sections{}
	for name, lines := range playUpstream(t) {
		played[name] = lines
	}
	if *update {
		writeSections(t, upstreamFile, played)
		return
	}
	recorded := readSections(t, upstreamFile)
	for name, want := range played {
		if got, ok := recorded[name]; !ok || !slices.Equal(got, want) {
			t.Errorf("%s: upstream does\n%s\nrecorded is\n%s", name, list(want), list(got))
		}
	}
	for name := range recorded {
		if _, ok := played[name]; !ok {
			t.Errorf("%s is recorded and no scenario", name)
		}
	}
	if t.Failed() {
		t.Log("make upstream-cases writes it anew")
	}
}

// playUpstream runs upstream's controller through all scenarios. It is built by the go command from the tool module that pins
// Kubernetes, with the flags that kube-controller-manager was built with, so that what that was made of is built already.
func playUpstream(t *testing.T) map[string][]string {
	t.Helper()
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(scenarios)
	if err != nil {
		t.Fatal(err)
	}
	input, output := filepath.Join(t.TempDir(), "scenarios.json"), filepath.Join(t.TempDir(), "lines.json")
	if err := os.WriteFile(input, data, 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "test", "-mod=readonly", "-trimpath", "-count=1", "-timeout", "2m", "./cronjobs",
		"-args", "-scenarios", input, "-lines", output)
	command.Dir = filepath.Join(root, "tools", "kubernetes")
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("run upstream's controller: %v\n%s", err, said)
	}
	if data, err = os.ReadFile(output); err != nil {
		t.Fatal(err)
	}
	var lines map[string][]line
	if err := json.Unmarshal(data, &lines); err != nil {
		t.Fatal(err)
	}
	timelines := map[string][]string{}
	for _, s := range scenarios {
		timelines[s.Name] = timeline(s.firstStatus(), lines[s.Name])
	}
	return timelines
}
