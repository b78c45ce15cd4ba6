package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// waits are the functions that wait, with the position of the argument that says how long.
var waits = map[string]int{
	"Eventually": 1, "Always": 1, "AsSoonAs": 1, "Poll": 2,
	"EventuallyWithT": 2, "PollUntilContextTimeout": 2, "WithTimeout": 1,
}

// waiting are the folders whose code waits for a running stack.
var waiting = []string{"dev/harness", "test/serial", "test/stack", "test/trial"}

// Every wait for something that runs names what bounds it, as dev/harness/bounds.go does: whoever reads a number can't
// tell whether it is enough on a slower machine, or what has to change with it.
func TestEveryWaitNamesItsBound(t *testing.T) {
	seen := 0
	for _, folder := range waiting {
		for _, path := range goFiles(t, filepath.Join(root, folder)) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				position, found := waits[calledName(call)]
				if !found || len(call.Args) <= position {
					return true
				}
				seen++
				if bound := call.Args[position]; namesUnit(bound) && !isUnitTest(path) {
					t.Errorf("%s: %s waits for a number; name what bounds it, see dev/harness/bounds.go", fset.Position(bound.Pos()), calledName(call))
				}
				return true
			})
		}
	}
	if seen < 100 {
		t.Errorf("%d waits were found, which can't be all", seen)
	}
}

// isUnitTest tells whether a file tests the harness itself, which waits for nothing that runs.
func isUnitTest(path string) bool {
	return filepath.Base(filepath.Dir(path)) == "harness" && strings.HasSuffix(path, "_test.go")
}

// goFiles lists the Go files of a folder and those below it.
func goFiles(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func calledName(call *ast.CallExpr) string {
	switch called := call.Fun.(type) {
	case *ast.SelectorExpr:
		return called.Sel.Name
	case *ast.Ident:
		return called.Name
	}
	return ""
}

// namesUnit tells whether an expression is made with one of the package time's units.
func namesUnit(expression ast.Expr) bool {
	found := false
	ast.Inspect(expression, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			of, isName := selector.X.(*ast.Ident)
			found = found || isName && of.Name == "time" && slices.Contains([]string{"Millisecond", "Second", "Minute", "Hour"}, selector.Sel.Name)
		}
		return true
	})
	return found
}
