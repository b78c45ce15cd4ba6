package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	defectsPage = "docs/defects/README.md"
	// defects is how many the page is about.
	defects = 28
)

var (
	defectsPatches = []string{"docs/defects/f18eae9.patch", "docs/defects/f18eae9-cronjobs.patch"}
	// defectTest is how the page names a test of a patch: `package: 01Name`, which is
	// TestDefect01Name.
	defectTest = regexp.MustCompile("`([a-z0-9/]+): ([0-9]{2}[A-Za-z0-9]+)`")
	// patchedTest finds the tests of a patch with the folders that they are in.
	patchedTest = regexp.MustCompile(`(?m)^\+\+\+ b/(.*)/[a-z0-9_]+\.go$|^\+func TestDefect([A-Za-z0-9]+)\(`)
)

// The page on the defects names the tests that there are, here and in the patches.
func TestTheDefectsNameTestsThatExist(t *testing.T) {
	page := read(t, defectsPage)
	rows := 0
	for line := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		here := namedTest.FindAllStringSubmatch(line, -1)
		for _, name := range here {
			if !testsOf(t, name[1])[name[2]] {
				t.Errorf("%s: package %s has no test %s", defectsPage, name[1], name[2])
			}
		}
		if len(here) > 0 && defectTest.MatchString(line) {
			rows++
		}
	}
	if rows != defects {
		t.Errorf("%s has %d rows with tests then and now, want %d", defectsPage, rows, defects)
	}

	var named, patched []string
	for _, name := range defectTest.FindAllStringSubmatch(page, -1) {
		named = append(named, name[1]+": "+name[2])
	}
	for _, patch := range defectsPatches {
		folder := ""
		for _, found := range patchedTest.FindAllStringSubmatch(read(t, patch), -1) {
			if found[1] != "" {
				folder = found[1]
			} else {
				patched = append(patched, folder+": "+found[2])
			}
		}
	}
	slices.Sort(named)
	slices.Sort(patched)
	if !slices.Equal(named, patched) {
		t.Errorf("%s names of the patches\n%s\nwhich has\n%s", defectsPage, strings.Join(named, "\n"), strings.Join(patched, "\n"))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
