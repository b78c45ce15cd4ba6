// Package exposition reads counters from the text that a process exposes to Prometheus.
package exposition

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Counts reads the Prometheus text format and adds up the samples of the named counters and gauges by key; an empty key
// leaves a sample out. All other metrics are skipped unread: the API server has tens of thousands.
func Counts(text io.Reader, names []string, key func(name string, labels map[string]string) string) (map[string]float64, error) {
	var wanted strings.Builder
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# TYPE "), "# HELP ")
		if end := strings.IndexAny(name, "{ "); end >= 0 && slices.Contains(names, name[:end]) {
			wanted.WriteString(line + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(wanted.String()))
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	total := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			if k := key(name, labels(metric)); k != "" {
				total[k] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return total, nil
}

func labels(metric *dto.Metric) map[string]string {
	byName := map[string]string{}
	for _, pair := range metric.GetLabel() {
		byName[pair.GetName()] = pair.GetValue()
	}
	return byName
}
