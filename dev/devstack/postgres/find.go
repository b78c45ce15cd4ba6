package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrMissing says that no PostgreSQL is installed, and none could be.
var ErrMissing = errors.New("PostgreSQL is not installed: on Debian, apt-get install postgresql; elsewhere, put its folder of programs (initdb, postgres, pg_isready) on PATH")

// programs are what a server needs.
var programs = []string{"initdb", "postgres", "pg_isready"}

// debianFolders is where Debian's packages keep each version's programs, which are not on PATH.
const debianFolders = "/usr/lib/postgresql/*/bin"

// find returns the folder of the newest PostgreSQL in Debian's folders, else that of the one on PATH, else ErrMissing.
func find(pattern string) (string, error) {
	folders, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("look for PostgreSQL: %w", err)
	}
	slices.SortFunc(folders, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		if complete(folder) {
			return folder, nil
		}
	}
	return "", ErrMissing
}

// version returns the version in a path such as /usr/lib/postgresql/15/bin.
func version(folder string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return number
}

func complete(folder string) bool {
	return !slices.ContainsFunc(programs, func(name string) bool {
		info, err := os.Stat(filepath.Join(folder, name))
		return err != nil || info.IsDir() || info.Mode()&0o111 == 0
	})
}

// Ensure returns the folder of PostgreSQL's programs. Where there are none, root on Debian gets Debian's package; it is
// the only thing that a development stack installs. Everybody else gets ErrMissing.
func Ensure(ctx context.Context, progress io.Writer) (string, error) {
	folder, err := find(debianFolders)
	if err == nil || !canInstall() {
		return folder, err
	}
	fmt.Fprintln(progress, "postgres: installing Debian's package postgresql, without a cluster of the system's own")
	if err := install(ctx); err != nil {
		return "", fmt.Errorf("%w; this was tried and failed: %w", ErrMissing, err)
	}
	return find(debianFolders)
}

func canInstall() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0
}

// clusterSettings keeps Debian's package from making and starting a server when it is installed.
const clusterSettings = "/etc/postgresql-common/createcluster.conf"

func install(ctx context.Context) error {
	if _, err := os.Stat(clusterSettings); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(clusterSettings), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(clusterSettings, []byte("create_main_cluster = false\n"), 0o644); err != nil {
			return err
		}
	}
	for _, arguments := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", "postgresql"},
	} {
		command := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, arguments...)...)
		command.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "UCF_FORCE_CONFFOLD=1")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", arguments[0], err, output)
		}
	}
	return nil
}
