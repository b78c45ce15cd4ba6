package main

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/telemetry"
)

// An alert on a counter sees only what was added to a series that was there before.
func TestEachOutcomeIsCountedFromZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, closer := telemetry.SDKMetrics(registry, slog.New(slog.DiscardHandler), telemetry.Labels{"workflow_type": protocol.Workflows})
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
	for _, outcome := range ledger.Outcomes {
		assert.True(t, found[string(outcome)], outcome)
	}
}
