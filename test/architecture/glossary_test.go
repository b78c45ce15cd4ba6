package architecture

import (
	"path/filepath"
	"strings"
	"testing"
)

// The words that are Ostinato's own are explained once, and whoever reads a package finds them.
func TestPackagesNameTheGlossary(t *testing.T) {
	found := 0
	for _, pattern := range []string{"activities/doc.go", "api/v1/doc.go", "internal/*/doc.go"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if found++; !strings.Contains(read(t, name), "docs/glossary.md") {
				t.Errorf("%s does not name docs/glossary.md", name)
			}
		}
	}
	if found < 7 {
		t.Fatalf("%d packages were found", found)
	}
}

func TestTheGlossaryIsShort(t *testing.T) {
	rows := strings.Count(read(t, "docs/glossary.md"), "\n| ") - 1
	if rows != 20 {
		t.Errorf("the glossary has %d words, want 20", rows)
	}
}
