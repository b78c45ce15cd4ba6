package toolchain

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// fetchDebianPackage downloads and unpacks a package under dir/root.
func fetchDebianPackage(ctx context.Context, dir, name string) error {
	return fetchDebian(ctx, dir, "download", name)
}

// fetchDebian downloads and unpacks what a command of apt-get downloads for a package under dir/root. Lists, archives and
// logs are dir's own: apt reads the system's sources and changes nothing of the system's.
func fetchDebian(ctx context.Context, dir string, command ...string) error {
	name := command[len(command)-1]
	for _, folder := range []string{"state/lists/partial", "cache/archives/partial", "root"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return fmt.Errorf("fetch %s: %w", name, err)
		}
	}
	options := []string{
		"-q",
		"-o", "Dir::State=" + filepath.Join(dir, "state"),
		"-o", "Dir::State::status=/var/lib/dpkg/status",
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "Dir::Log=" + dir,
		"-o", "APT::Sandbox::User=root", // the folder need not be open to apt's own user
	}
	for _, action := range [][]string{{"update"}, command} {
		if err := run(ctx, dir, "apt-get", append(options, action...)...); err != nil {
			return err
		}
	}
	var archives []string
	for _, folder := range []string{".", "cache/archives"} {
		found, err := filepath.Glob(filepath.Join(dir, folder, "*.deb"))
		if err != nil {
			return fmt.Errorf("fetch %s: %w", name, err)
		}
		archives = append(archives, found...)
	}
	if len(archives) == 0 {
		return fmt.Errorf("fetch %s: apt-get left no archive in %s", name, dir)
	}
	for _, archive := range archives {
		if err := run(ctx, dir, "dpkg", "-x", archive, filepath.Join(dir, "root")); err != nil {
			return err
		}
	}
	for _, leftover := range []string{"state", "cache"} {
		os.RemoveAll(filepath.Join(dir, leftover)) // tens of megabytes of lists that nothing reads again
	}
	return nil
}

func run(ctx context.Context, dir, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, arguments[len(arguments)-1], err, lastLines(string(output), 10))
	}
	return nil
}
