package telemetry_test

import (
	"fmt"
	"log/slog"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/telemetry"
)

// samples returns the samples of a counter by the value of a label.
func samples(t *testing.T, count func(value string) map[string]string, values ...string) map[string]float64 {
	t.Helper()
	registry := telemetry.NewRegistry()
	handler, closer := telemetry.SDKMetrics(registry, slog.New(slog.DiscardHandler), telemetry.Labels{"activity_type": {"CarryOut"}})
	for _, value := range values {
		handler.WithTags(count(value)).Counter("temporal_tasks").Inc(1)
	}
	require.NoError(t, closer.Close())
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "temporal_tasks_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			found[label(metric)] += metric.GetCounter().GetValue()
		}
	}
	return found
}

func label(metric *dto.Metric) (values string) {
	for _, pair := range metric.GetLabel() {
		values += pair.GetValue()
	}
	return values
}

func TestTypesThatAreNoneOfOursShareASeries(t *testing.T) {
	found := samples(t, func(value string) map[string]string { return map[string]string{"activity_type": value} },
		"CarryOut", "none", "Evil1", "Evil2", "CarryOut")
	assert.Equal(t, map[string]float64{"CarryOut": 2, "none": 1, "other": 2}, found)
}

func TestTheValuesOfALabelAreFew(t *testing.T) {
	var values []string
	for n := range 20_000 {
		values = append(values, fmt.Sprintf("queue%d", n))
	}
	found := samples(t, func(value string) map[string]string { return map[string]string{"task_queue": value} }, append(values, "queue7")...)
	assert.Len(t, found, 101, "a hundred and the others")
	assert.Equal(t, float64(2), found["queue7"])
	assert.Equal(t, float64(20_000-100), found["other"])
}
