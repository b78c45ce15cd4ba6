package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// keyLength is how many hexadecimal digits of the hash name a folder of the cache.
const keyLength = 12

// content is a file that takes part in a key.
type content struct {
	name string
	data []byte
}

// key is the name under which what is built from the files, with the flags, for the platform, is cached. Files and
// tools may come in any order.
func key(files []content, built map[string]tool, platform string) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "platform %s\n", platform)
	for _, name := range slices.Sorted(maps.Keys(built)) {
		t := built[name]
		fmt.Fprintf(hash, "tool %s %s tags %q ldflags %q seccomp %t\n", name, t.pkg, t.tags, t.ldflags, t.seccomp)
		if t.test {
			fmt.Fprintf(hash, "tests of %s\n", name)
		}
	}
	sorted := slices.SortedFunc(slices.Values(files), func(a, b content) int { return strings.Compare(a.name, b.name) })
	for _, file := range sorted {
		fmt.Fprintf(hash, "file %s %d\n", file.name, len(file.data))
		hash.Write(file.data)
	}
	return hex.EncodeToString(hash.Sum(nil))[:keyLength]
}

// folder returns where in the cache the executable of a tool lies.
func folder(root, cache, platform string, name string, t tool) (string, error) {
	if t.debian != "" {
		return filepath.Join(cache, "tools", t.debian, "bin"), nil
	}
	if len(t.sources) > 0 {
		files, err := sources(root, t.sources)
		if err != nil {
			return "", err
		}
		// It pins the modules that the sources import.
		data, err := os.ReadFile(filepath.Join(root, t.module, "go.mod"))
		if err != nil {
			return "", fmt.Errorf("read the pins of module %s: %w", t.module, err)
		}
		files = append(files, content{name: "go.mod", data: data})
		return filepath.Join(cache, "tools", "ostinato-"+key(files, map[string]tool{name: t}, platform), "bin"), nil
	}
	var files []content
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, t.module, name))
		if err != nil {
			return "", fmt.Errorf("read the pins of tool module %s: %w", t.module, err)
		}
		files = append(files, content{name: name, data: data})
	}
	siblings := maps.Clone(tools)
	maps.DeleteFunc(siblings, func(_ string, other tool) bool { return other.module != t.module })
	return filepath.Join(cache, "tools", path.Base(t.module)+"-"+key(files, siblings, platform), "bin"), nil
}

// sources reads the Go files of folders of the repository.
func sources(root string, folders []string) ([]content, error) {
	var files []content
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(root), folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			data, err := os.ReadFile(filepath.Join(root, name))
			files = append(files, content{name: name, data: data})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the sources in %s: %w", folder, err)
		}
	}
	return files, nil
}
