package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const threatPage = "docs/threat-model.md"

var (
	// namedTest is how the page names a test: `package: TestName`.
	namedTest = regexp.MustCompile("`([a-z0-9/]+): (Test[A-Za-z0-9_]+)`")
	testName  = regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9_]*`)
	testFunc  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(t \*testing\.T\)`)
)

// Every test that the threat model names exists, in the package that it names.
func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, threatPage))
	if err != nil {
		t.Fatal(err)
	}
	named := namedTest.FindAllStringSubmatch(string(page), -1)
	if all := len(testName.FindAllString(string(page), -1)); len(named) != all || all == 0 {
		t.Errorf("%s names %d tests, of which %d can be read as `package: TestName`", threatPage, all, len(named))
	}
	packages := map[string]map[string]bool{}
	for _, name := range named {
		pkg, test := name[1], name[2]
		if packages[pkg] == nil {
			packages[pkg] = testsOf(t, pkg)
		}
		if !packages[pkg][test] {
			t.Errorf("%s: package %s has no test %s", threatPage, pkg, test)
		}
	}
}

// Every row of the threat model's tables says what shows it.
func TestEveryThreatNamesATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, threatPage))
	if err != nil {
		t.Fatal(err)
	}
	lines, rows := strings.Split(string(page), "\n"), 0
	for n, line := range lines {
		header := n+1 < len(lines) && strings.HasPrefix(lines[n+1], "|--")
		if !strings.HasPrefix(line, "| ") || header {
			continue
		}
		rows++
		if !namedTest.MatchString(line) {
			t.Errorf("%s:%d: no test shows this", threatPage, n+1)
		}
	}
	if rows == 0 {
		t.Errorf("%s has no tables", threatPage)
	}
}

// testsOf returns the tests of the package in a folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunc.FindAllStringSubmatch(string(source), -1) {
			tests[found[1]] = true
		}
	}
	return tests
}
