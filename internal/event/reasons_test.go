package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/event"
)

func TestOnlyEventsOfOursAreValid(t *testing.T) {
	assert.NoError(t, event.Normal("Completed", "Job completed").Validate())
	assert.NoError(t, event.Warning("BackoffLimitExceeded", "").Validate())
	for name, forged := range map[string]event.Event{
		"a reason that there is not": event.Warning("Evil1", "x"),
		"a reason of the other type": event.Normal("BackoffLimitExceeded", "x"),
		"a type that there is not":   {Type: "Evil", Reason: "Completed"},
		"nothing":                    {},
	} {
		assert.Error(t, forged.Validate(), name)
		assert.Error(t, event.Validate([]event.Event{event.Normal("Completed", ""), forged}), name)
	}
}

// TestEveryReasonThatIsEmittedIsListed reads the calls of Normal and Warning whose reason is a literal.
func TestEveryReasonThatIsEmittedIsListed(t *testing.T) {
	found := 0
	for _, folder := range []string{"../../activities", "../../workflows", "../job", "../schedule"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				called, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || len(call.Args) != 2 || called.Sel.Name != "Normal" && called.Sel.Name != "Warning" {
					return true
				}
				if literal, ok := call.Args[0].(*ast.BasicLit); ok {
					reason, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					assert.Contains(t, event.Reasons(called.Sel.Name), reason, path)
					found++
				}
				return true
			})
			return nil
		}))
	}
	assert.Greater(t, found, 10)
}
