package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// changesItself are exported methods that have to be on a pointer.
var changesItself = map[string]bool{"UnmarshalJSON": true}

// Nobody outside a core changes one of its values: exported functions return what it becomes. Within, a pass changes it.
func TestCoresHandOutValues(t *testing.T) {
	for _, core := range []string{"internal/job", "internal/schedule", "internal/ledger"} {
		passes, functions := 0, 0
		eachFunction(t, core, func(file string, function *ast.FuncDecl) {
			name := function.Name.Name
			switch receiver := pointer(function.Recv); {
			case receiver == "pass":
				passes++
			case receiver != "" && function.Name.IsExported() && !changesItself[name]:
				t.Errorf("%s: (*%s).%s can change what it is called on", file, receiver, name)
			case receiver == "State" && core == "internal/schedule":
				t.Errorf("%s: %s changes a State beside the pass", file, name)
			}
			if functions++; function.Name.IsExported() && pointer(function.Type.Params) == "State" {
				t.Errorf("%s: %s can change the state that it is given", file, name)
			}
		})
		if functions == 0 || passes == 0 && core != "internal/ledger" {
			t.Errorf("%s: %d functions, %d of a pass", core, functions, passes)
		}
	}
}

// eachFunction visits the functions and methods of a package, tests left out.
func eachFunction(t *testing.T, folder string, visit func(file string, function *ast.FuncDecl)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				visit(path, function)
			}
		}
	}
}

// pointer returns the name of the type that one of the parameters points to; empty if none is a pointer to a type of
// the package.
func pointer(parameters *ast.FieldList) string {
	if parameters == nil {
		return ""
	}
	for _, parameter := range parameters.List {
		if star, ok := parameter.Type.(*ast.StarExpr); ok {
			if named, ok := star.X.(*ast.Ident); ok {
				return named.Name
			}
		}
	}
	return ""
}
