package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// versionVariable is what a program says for --version, and revisionVariable the commit that it says among its metrics.
const (
	versionVariable  = "ostinato.dev/ostinato/internal/command.version"
	revisionVariable = "ostinato.dev/ostinato/internal/command.revision"
)

// program is one that was compiled.
type program struct {
	name    string
	content []byte
}

// linkerFlags leave out what only debuggers read, and tell a program what it is built from.
func (o options) linkerFlags() string {
	flags := "-s -w -X " + versionVariable + "=" + o.version
	if o.revision != "" {
		flags += " -X " + revisionVariable + "=" + o.revision
	}
	return flags
}

// compile builds the programs of an image for a platform, and writes the SBOM of each beside it. The flags leave nothing of the
// machine in a program: no folder, no C library, no state of a checkout. dev/devstack builds with the same, so that both share
// Go's build cache. Temporal's archive in Google's storage, which nothing here uses, would link xDS without the tag.
func compile(ctx context.Context, o options, of image, platform v1.Platform) ([]program, error) {
	folder, err := filepath.Abs(filepath.Join(o.out, "bin", platform.OS+"-"+platform.Architecture))
	if err != nil {
		return nil, err
	}
	err = os.MkdirAll(folder, 0o755)
	if err != nil {
		return nil, fmt.Errorf("create the folder for programs: %w", err)
	}
	var compiled []program
	for _, name := range of.programs {
		target := filepath.Join(folder, name)
		command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags=disable_grpc_modules",
			"-ldflags="+o.linkerFlags(), "-o", target, "./cmd/"+name)
		command.Dir = o.source
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOWORK=off", "GOFLAGS=")
		output, err := command.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, strings.TrimSpace(string(output)))
		}
		content, err := os.ReadFile(target)
		if err != nil {
			return nil, fmt.Errorf("read what was built: %w", err)
		}
		err = writeSBOM(target, o.version)
		if err != nil {
			return nil, fmt.Errorf("write the SBOM of %s: %w", name, err)
		}
		compiled = append(compiled, program{name, content})
	}
	return compiled, nil
}
