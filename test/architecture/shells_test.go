package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// What a state becomes, the core decides: workflows and activities call its functions and keep what they return.
func TestNoShellWritesAFieldOfAState(t *testing.T) {
	kept := 0
	for _, pattern := range []string{"workflows/*.go", "activities/*.go"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				for _, target := range written(node) {
					if isState(target) {
						kept++
					} else if field := fieldOfAState(target); field != "" {
						t.Errorf("%s writes %s of a state: a function of the core returns what the state becomes", files.Position(node.Pos()), field)
					}
				}
				return true
			})
		}
	}
	if kept == 0 {
		t.Error("no state is kept")
	}
}

// written are the expressions that a statement assigns to.
func written(node ast.Node) []ast.Expr {
	switch statement := node.(type) {
	case *ast.AssignStmt:
		return statement.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{statement.X}
	}
	return nil
}

// isState reports whether the expression is a variable or field with the name of a state.
func isState(expression ast.Expr) bool {
	switch named := expression.(type) {
	case *ast.Ident:
		return named.Name == "state"
	case *ast.SelectorExpr:
		return named.Sel.Name == "state"
	}
	return false
}

// fieldOfAState returns the name of the field whose value, or part of it, the expression is.
func fieldOfAState(expression ast.Expr) string {
	for {
		switch part := expression.(type) {
		case *ast.SelectorExpr:
			if isState(part.X) {
				return part.Sel.Name
			}
			expression = part.X
		case *ast.IndexExpr:
			expression = part.X
		default:
			return ""
		}
	}
}
