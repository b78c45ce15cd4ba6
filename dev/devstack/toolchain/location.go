package toolchain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// modulePath is the path of this module, by which its checkout is recognised.
const modulePath = "ostinato.dev/ostinato"

// CacheDir returns the folder for executables and whatever else may be made again: $OSTINATO_CACHE, else ostinato in
// the user's cache folder. It need not exist yet.
func CacheDir() (string, error) {
	if dir := os.Getenv("OSTINATO_CACHE"); dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("OSTINATO_CACHE: %w", err)
		}
		return absolute, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (set OSTINATO_CACHE): %w", err)
	}
	return filepath.Join(dir, "ostinato"), nil
}

// RepositoryRoot returns the root of the checkout that holds the working directory.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for start := dir; ; {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declaresModule(string(data), modulePath) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find the repository: %w", errors.New(start+" is not inside a checkout of "+modulePath))
		}
		dir = parent
	}
}

// declaresModule tells whether a go.mod is that of the module.
func declaresModule(goMod, module string) bool {
	for line := range strings.Lines(goMod) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return fields[1] == module
		}
	}
	return false
}
