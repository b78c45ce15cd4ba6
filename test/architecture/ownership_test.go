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

// selectors calls visit with every "x.Name" in the product's Go files below a folder.
func selectors(t *testing.T, folder string, visit func(file, of, name string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				of := ""
				if identifier, ok := selector.X.(*ast.Ident); ok {
					of = identifier.Name
				}
				visit(filepath.ToSlash(file), of, selector.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whose a Pod or a Job is, internal/claim alone says.
func TestOnlyClaimKnowsARuleOfOwnership(t *testing.T) {
	seen := 0
	for _, folder := range []string{"activities", "workflows", "internal/podwatch", "internal/bridge"} {
		selectors(t, folder, func(file, of, name string) {
			seen++
			rule := name == "OwnerReferences" || of != "claim" && slices.Contains(
				[]string{"GetControllerOf", "GetControllerOfNoCopy", "IsControlledBy", "ControllerUidLabel", "ManagedBy"}, name)
			if rule && !slices.Contains(keepers, file) {
				t.Errorf("%s uses %s.%s: ask internal/claim", file, of, name)
			}
		})
	}
	if seen == 0 {
		t.Error("nothing was looked at")
	}
}

// keepers are the files that keep, select by or write what says whose an object is; what
// it means they ask claim.
var keepers = []string{
	"activities/release_orphans.go", // finds Pods by label
	"internal/bridge/trim.go",       // trims what the cache keeps
	"internal/bridge/probe.go",      // makes a Job for the built-in controller
}

func TestOnlyPodWatchWatchesPods(t *testing.T) {
	found := false
	for _, folder := range []string{"activities", "workflows", "internal", "cmd"} {
		selectors(t, folder, func(file, of, name string) {
			if !slices.Contains([]string{"NewPodInformer", "NewFilteredPodInformer"}, name) {
				return
			}
			if !strings.HasPrefix(file, "internal/podwatch/") {
				t.Errorf("%s makes an informer on Pods (%s.%s)", file, of, name)
			}
			found = true
		})
	}
	if !found {
		t.Error("nobody watches Pods")
	}
}
