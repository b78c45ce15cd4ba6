package podwatch

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// An alert on a counter sees only what was added to a series that was there before.
func TestSignalsAreCountedFromZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "ostinato_podwatch_signals_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			found[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
		}
	}
	for _, result := range []string{"sent", "not_found", "error"} {
		if count, ok := found[result]; !ok || count != 0 {
			t.Errorf("%s: %v, %t", result, count, ok)
		}
	}
}

func TestAHeartbeatHasItsTime(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	metrics.Shards(4)
	metrics.Heartbeat(3, time.Unix(1_800_000_000, 0))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"ostinato_podwatch_shards": 4, "ostinato_podwatch_heartbeat_timestamp_seconds": 1_800_000_000}
	for _, family := range families {
		if value, ok := want[family.GetName()]; ok && family.GetMetric()[0].GetGauge().GetValue() == value {
			delete(want, family.GetName())
		}
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
}
