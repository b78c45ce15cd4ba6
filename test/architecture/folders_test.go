package architecture

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// maxPrefix is how many files of a folder may begin with the same word. More are a package that has no wall.
const maxPrefix = 10

// maxFileLines is about 400: how many lines a file with one subject has at most.
const maxFileLines = 450

func TestFoldersAreDividedByPackagesAndNotByPrefixes(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		t.Fatalf("list the files of the checkout: %v", err)
	}
	prefixes, files := map[string]int{}, 0
	for file := range strings.Lines(string(output)) {
		file = strings.TrimSpace(file)
		if !isProduct(file) {
			continue
		}
		files++
		if word, _, several := strings.Cut(path.Base(file), "_"); several {
			prefixes[path.Join(path.Dir(file), word)]++
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if lines := set.Position(parsed.FileEnd).Line; lines > maxFileLines {
			t.Errorf("%s has %d lines, and more than one subject: want %d at most", file, lines, maxFileLines)
		}
	}
	if files == 0 {
		t.Error("no file is looked at")
	}
	for prefix, count := range prefixes {
		if count > maxPrefix {
			t.Errorf("%d files begin with %s_: make them a package", count, prefix)
		}
	}
}

// isProduct reports whether a Go file is part of the product's programs.
func isProduct(file string) bool {
	if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(path.Base(file), "zz_generated") {
		return false
	}
	for _, folder := range []string{"activities/", "api/", "cmd/", "internal/", "workflows/"} {
		if strings.HasPrefix(file, folder) {
			return true
		}
	}
	return false
}
