package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// threatPage says what shows each of its rows, and testedPages are all that name tests.
const threatPage = "docs/threat-model.md"

var testedPages = []string{threatPage, "docs/failures.md"}

var (
	// namedTest is how the page names a test: `package: TestName`.
	namedTest = regexp.MustCompile("`([a-z0-9/-]+): (Test[A-Za-z0-9_]+)`")
	testName  = regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9_]*`)
	testFunc  = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(t \*testing\.T\)`)
)

// Every test that these pages name exists, in the package that they name.
func TestTheTestsThatPagesNameExist(t *testing.T) {
	packages := map[string]map[string]bool{}
	for _, path := range testedPages {
		page := read(t, path)
		named := namedTest.FindAllStringSubmatch(page, -1)
		if all := len(testName.FindAllString(page, -1)); len(named) != all || all == 0 {
			t.Errorf("%s names %d tests, only %d can be read as `package: TestName`", path, all, len(named))
		}
		for _, name := range named {
			pkg, test := name[1], name[2]
			if packages[pkg] == nil {
				packages[pkg] = testsOf(t, pkg)
			}
			if !packages[pkg][test] {
				t.Errorf("%s: package %s has no test %s", path, pkg, test)
			}
		}
	}
}

// Every row of the tables with a column of tests says what shows it. All tables of the threat model have one.
func TestEveryRowNamesATest(t *testing.T) {
	for _, path := range testedPages {
		lines, rows, tested := strings.Split(read(t, path), "\n"), 0, false
		for n, line := range lines {
			header := n+1 < len(lines) && strings.HasPrefix(lines[n+1], "|--")
			if header {
				tested = path == threatPage || strings.HasSuffix(line, "| test |")
			}
			if !strings.HasPrefix(line, "| ") || header || !tested {
				continue
			}
			rows++
			if !namedTest.MatchString(line) {
				t.Errorf("%s:%d: no test shows this", path, n+1)
			}
		}
		if rows == 0 {
			t.Errorf("%s has no tables of tests", path)
		}
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
