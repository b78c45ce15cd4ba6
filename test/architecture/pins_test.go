package architecture

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// apart are the modules that agree with no other, and why.
var apart = map[string]string{
	"tools/prometheus": "it needs client-go of another minor release of Kubernetes",
	"tools/temporal":   "it needs a server of another minor release of Temporal",
}

// pin is a line of go.mod that requires a module, or replaces it by a version of itself.
var pin = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (?:=> (\S+) )?(v\S+)`)

// The go command compiles a package once for all programs, unless their modules have other versions of it, or of what it imports.
func TestModulesAgreeOnWhatTheyShare(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d modules of tools, %v", len(files), err)
	}
	versions := map[string]map[string]string{}
	for _, file := range append(files, filepath.Join(root, "go.mod")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		if apart[filepath.ToSlash(folder)] != "" {
			continue
		}
		for _, match := range pin.FindAllStringSubmatch(string(text), -1) {
			path, replacement, version := match[1], match[2], match[3]
			if replacement != "" && replacement != path {
				t.Errorf("%s replaces %s by %s", folder, path, replacement)
			}
			if versions[path] == nil {
				versions[path] = map[string]string{}
			}
			versions[path][folder] = version
		}
	}
	if len(versions["google.golang.org/grpc"]) < 3 {
		t.Errorf("grpc is pinned by %v: want more modules than that", versions["google.golang.org/grpc"])
	}
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		if different := slices.Compact(slices.Sorted(maps.Values(versions[path]))); len(different) > 1 {
			t.Errorf("%s: %v; go mod edit -require=%s@VERSION and go mod tidy, in each folder that has another", path, versions[path], path)
		}
	}
}
