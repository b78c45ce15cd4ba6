package node

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var testAnnotation = regexp.MustCompile(`ostinato\.dev/test-[a-z-]*[a-z]`)

// named returns the annotations of simulated Pods in a text.
func named(text []byte) map[string]bool {
	found := map[string]bool{}
	for _, annotation := range testAnnotation.FindAllString(string(text), -1) {
		found[annotation] = true
	}
	return found
}

func TestThePageNamesTheAnnotationsThatTheStagesObey(t *testing.T) {
	obeyed := map[string]bool{}
	files, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stage, err := stages.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(obeyed, named(stage))
	}
	if len(obeyed) == 0 {
		t.Fatal("the stages obey no annotation")
	}
	for _, path := range []string{filepath.Join("..", "..", "..", "docs", "simulated-pods.md"), "doc.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Sorted(maps.Keys(named(text))), slices.Sorted(maps.Keys(obeyed)); !slices.Equal(got, want) {
			t.Errorf("%s names\n%q, the stages obey\n%q", path, got, want)
		}
	}
}
