package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/telemetry"
)

// An alert on a counter sees only what was added to a series that was there before.
func TestEachOutcomeIsCountedFromZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, closer := telemetry.SDKMetrics(registry, slog.New(slog.DiscardHandler))
	defer func() { assert.NoError(t, closer.Close()) }()
	countFromZero(metrics, "default", names.Cluster("west"))

	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	assert.Equal(t, "ostinato_cronjob_scheduled_times_total", families[0].GetName())
	found := map[string]bool{}
	for _, metric := range families[0].GetMetric() {
		assert.Zero(t, metric.GetCounter().GetValue())
		for _, label := range metric.GetLabel() {
			if label.GetName() == "outcome" {
				found[label.GetValue()] = true
			}
		}
	}
	for _, outcome := range outcomes {
		assert.True(t, found[string(outcome)], outcome)
	}
}

func TestNoMetricsAreCountedWhereTheyAreOff(t *testing.T) {
	countFromZero(nil, "default", "")
}

// Every outcome that package schedule has is in the list.
func TestEveryOutcomeIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/schedule/outcome.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var defined []schedule.LedgerOutcome
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "LedgerOutcome" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			defined = append(defined, schedule.LedgerOutcome(text))
		}
		return true
	})
	require.NotEmpty(t, defined)
	assert.Subset(t, outcomes, defined)
}
