package ledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/ledger"
)

func TestEveryOutcomeIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var defined []ledger.Outcome
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Outcome" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			defined = append(defined, ledger.Outcome(text))
		}
		return true
	})
	require.NotEmpty(t, defined)
	assert.ElementsMatch(t, ledger.Outcomes, defined)
}
