package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/times"
)

func TestOnlyEventsOfOursAreValid(t *testing.T) {
	assert.NoError(t, event.Validate([]event.Event{event.Normal("Completed", "Job completed"), event.Warning("BackoffLimitExceeded", "")}))
	for name, forged := range map[string]event.Event{
		"a reason that there is not": event.Warning("Evil1", "x"),
		"a reason of the other type": event.Normal("BackoffLimitExceeded", "x"),
		"a type that there is not":   {Type: "Evil", Reason: "Completed"},
		"nothing":                    {},
	} {
		assert.Error(t, event.Validate([]event.Event{event.Normal("Completed", ""), forged}), name)
	}
}

// computed are the reasons that are no constant where they are emitted, by the expression.
var computed = map[string][]string{
	"verdict.Reason":         job.ConditionReasons(batchv1.JobFailed),
	"string(problem.Reason)": {string(times.UnparseableSchedule), string(times.UnknownTimeZone), string(times.NeverFires)},
}

// TestEveryReasonThatIsEmittedIsListed reads the calls of Normal and Warning.
func TestEveryReasonThatIsEmittedIsListed(t *testing.T) {
	const events = "../event"
	folders := map[string]map[string]*ast.File{}
	for _, folder := range []string{"../../activities", "../../workflows", "../job", "../schedule", events} {
		folders[folder] = parsed(t, folder)
	}
	ours, found := constants(folders[events]), 0
	for folder, files := range folders {
		own := constants(files)
		for path, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				called, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || len(call.Args) != 2 || called.Sel.Name != "Normal" && called.Sel.Name != "Warning" {
					return true
				}
				reasons, expression := []string(nil), types.ExprString(call.Args[0])
				switch argument := call.Args[0].(type) {
				case *ast.BasicLit:
					reasons = []string{text(t, argument)}
				case *ast.Ident:
					reasons = []string{own[argument.Name]}
				case *ast.SelectorExpr:
					if types.ExprString(argument.X) == "event" {
						reasons = []string{ours[argument.Sel.Name]}
						break
					}
					reasons = computed[expression]
				default:
					reasons = computed[expression]
				}
				assert.NotEmpty(t, reasons, "%s: which reasons can %s in %s be?", path, expression, folder)
				assert.Subset(t, event.Reasons(called.Sel.Name), reasons, "%s: %s", path, expression)
				found++
				return true
			})
		}
	}
	assert.Greater(t, found, 30)
}

func parsed(t *testing.T, folder string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, paths, folder)
	files := map[string]*ast.File{}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
		}
	}
	return files
}

// constants are those that a package declares by a string.
func constants(files map[string]*ast.File) map[string]string {
	found := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			declared, ok := node.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range declared.Names {
				if i < len(declared.Values) {
					if literal, ok := declared.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
						found[name.Name], _ = strconv.Unquote(literal.Value)
					}
				}
			}
			return true
		})
	}
	return found
}

func text(t *testing.T, literal *ast.BasicLit) string {
	t.Helper()
	value, err := strconv.Unquote(literal.Value)
	require.NoError(t, err)
	return value
}
