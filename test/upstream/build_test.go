package upstream

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// suitePackage is where the suite is in k8s.io/kubernetes.
const suitePackage = "test/integration/job"

// ourFolder is where our part of it is, relative to the module that pins Kubernetes.
const ourFolder = "jobs"

// goCommand returns a go command in the module that pins Kubernetes, with the flags that the control plane was built with, so that what
// the suite is made of is built already.
func goCommand(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = moduleFolder(t)
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	return command
}

func moduleFolder(t *testing.T) string {
	t.Helper()
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "tools", "kubernetes")
}

// answer returns the only line that a go command prints.
func answer(t *testing.T, arguments ...string) string {
	t.Helper()
	command := goCommand(t, arguments...)
	var mistakes strings.Builder
	command.Stderr = &mistakes
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, mistakes.String())
	}
	return strings.TrimSpace(string(printed))
}

// suiteSource returns upstream's suite as it is.
func suiteSource(t *testing.T) []byte {
	t.Helper()
	module := answer(t, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	source, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(suitePackage), "job_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// buildSuite builds the rewritten suite into a folder and returns the executable. The go command lays the rewritten file over our folder.
func buildSuite(t *testing.T, folder string) string {
	t.Helper()
	rewritten, err := rewrite(suiteSource(t))
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(folder, "suite_test.go")
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(moduleFolder(t), ourFolder, "suite_test.go"): suite},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, suite, rewritten)
	write(t, filepath.Join(folder, "overlay.json"), overlay)
	executable := filepath.Join(folder, "suite.test")
	command := goCommand(t, "test", "-c", "-vet=off", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-overlay", filepath.Join(folder, "overlay.json"), "-o", executable, "./"+ourFolder)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build upstream's suite: %v\n%s", err, said)
	}
	return executable
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
