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
	return buildPrograms(ctx, progress, TemporalEmbedded)
}

func buildPrograms(ctx context.Context, progress io.Writer, kind TemporalKind) (Programs, error) {
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
	programs := Programs{
		Worker:       filepath.Join(directory, "worker"),
		Bridge:       filepath.Join(directory, "bridge"),
		Temporal:     filepath.Join(directory, "temporal"),
		TemporalHost: filepath.Join(directory, "temporalhost"),
	}
	server := "./cmd/temporal"
	if kind == TemporalPostgres {
		server = "./dev/cmd/temporalhost"
	}
	for _, pkg := range []string{"./cmd/worker", "./cmd/bridge", server} {
		if err := buildProgram(ctx, progress, root, pkg, directory); err != nil {
			return Programs{}, err
		}
	}
	return programs, nil
}

// slowBuild is how long a build may take before it is worth a line.
const slowBuild = 3 * time.Second

func buildProgram(ctx context.Context, progress io.Writer, root, pkg, directory string) error {
	name := filepath.Base(pkg)
	// As tools/image builds them, so that both share Go's build cache.
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(directory, name), pkg)
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	started := time.Now()
	notice := time.AfterFunc(slowBuild, func() {
		fmt.Fprintf(progress, "programs: building %s (the first time takes minutes)\n", name)
	})
	output, err := command.CombinedOutput()
	notice.Stop()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, strings.TrimSpace(string(output)))
	}
	if took := time.Since(started); took > slowBuild {
		fmt.Fprintf(progress, "programs: built %s in %s\n", name, took.Round(time.Second))
	}
	return nil
}
