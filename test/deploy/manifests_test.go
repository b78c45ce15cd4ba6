package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ostinato.dev/ostinato/internal/devstack/toolchain"
)

// What kustomize builds, relative to deploy.
const (
	base    = "base"
	overlay = "overlays/example"
)

// render runs kustomize build.
func render(ctx context.Context, folder string) ([]byte, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	tools, err := toolchain.Ensure(ctx, os.Stderr, "kustomize")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, tools["kustomize"], "build", filepath.Join(root, "deploy", folder))
	var complaints bytes.Buffer
	command.Stderr = &complaints
	rendered, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kustomize build %s: %w: %s", folder, err, complaints.String())
	}
	if complaints.Len() > 0 {
		return nil, fmt.Errorf("kustomize build %s warns: %s", folder, complaints.String())
	}
	return rendered, nil
}

// The manifests apply without an error or a warning, also with fields that are
// not known refused.
func TestManifestsApply(t *testing.T) {
	if strings.Contains(installOutput, "Warning:") {
		t.Errorf("applying the overlay warns:\n%s", installOutput)
	}
	for _, folder := range []string{base, overlay} {
		t.Run(folder, func(t *testing.T) {
			rendered, err := render(t.Context(), folder)
			if err != nil {
				t.Fatal(err)
			}
			output, err := apply(t.Context(), stack.Stack, rendered, "--dry-run=server")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(output, "Warning:") {
				t.Errorf("kubectl warns:\n%s", output)
			}
		})
	}
}
