package devstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// Programs are the executables of this repository that a stack runs.
type Programs struct {
	Worker, Bridge string
	// Temporal is a whole Temporal server, TemporalHost a process of a Temporal cluster.
	Temporal, TemporalHost string
}

// BuildPrograms builds the repository's own programs into the cache. Go's build
// cache makes it a matter of seconds when little has changed; the first build
// of the Temporal server takes minutes. TemporalHost is built only for a stack
// that runs it.
func BuildPrograms(ctx context.Context, progress io.Writer) (Programs, error) {
	return buildPrograms(ctx, progress, Options{}.packages())
}

// packages are the main packages of the repository's own programs that a stack runs.
func (o Options) packages() []string {
	packages := []string{"./cmd/worker", "./cmd/bridge"}
	switch {
	case o.TemporalAddress != "":
		return packages
	case o.Temporal == TemporalPostgres:
		return append(packages, "./dev/cmd/temporalhost")
	default:
		return append(packages, "./cmd/temporal")
	}
}

// slowBuild is how long a build may take before it is worth a line.
const slowBuild = 3 * time.Second

// buildPrograms has one go command build them, which links one while it compiles what another has of its own.
func buildPrograms(ctx context.Context, progress io.Writer, packages []string) (Programs, error) {
	root, err := toolchain.RepositoryRoot()
	if err != nil {
		return Programs{}, err
	}
	cache, err := toolchain.CacheDir()
	if err != nil {
		return Programs{}, err
	}
	directory := filepath.Join(cache, "bin")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return Programs{}, fmt.Errorf("create the folder for programs: %w", err)
	}
	names := make([]string, len(packages))
	for i, pkg := range packages {
		names[i] = filepath.Base(pkg)
	}
	label := strings.Join(names, ", ")
	// As tools/image builds them, so that both share Go's build cache. Temporal's archive in Google's storage, which nothing here uses, would
	// link xDS without the tag.
	arguments := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-tags=disable_grpc_modules", "-o", directory + string(filepath.Separator)}, packages...)
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	started := time.Now()
	notice := time.AfterFunc(slowBuild, func() {
		fmt.Fprintf(progress, "programs: building %s (the first time takes minutes)\n", label)
	})
	output, err := command.CombinedOutput()
	notice.Stop()
	if err != nil {
		return Programs{}, fmt.Errorf("build %s: %w\n%s", label, err, strings.TrimSpace(string(output)))
	}
	if took := time.Since(started); took > slowBuild {
		fmt.Fprintf(progress, "programs: built %s in %s\n", label, took.Round(time.Second))
	}
	return Programs{
		Worker:       filepath.Join(directory, "worker"),
		Bridge:       filepath.Join(directory, "bridge"),
		Temporal:     filepath.Join(directory, "temporal"),
		TemporalHost: filepath.Join(directory, "temporalhost"),
	}, nil
}
