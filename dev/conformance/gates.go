package main

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// featureGates says of each feature gate of the API server whether it is on.
type featureGates map[string]bool

// off returns those of the gates that are off. A gate that the API server does not know is an error: the suite and the
// cluster are then not of one release.
func (g featureGates) off(names []string) ([]string, error) {
	var off []string
	for _, name := range names {
		on, known := g[name]
		if !known {
			return nil, fmt.Errorf("the API server has no feature gate %s", name)
		}
		if !on {
			off = append(off, name)
		}
	}
	return off, nil
}

// readGates asks the API server, whose metrics tell the state of every gate.
func readGates(ctx context.Context, config *rest.Config) (featureGates, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("read the feature gates: %w", err)
	}
	metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the feature gates: %w", err)
	}
	return parseGates(metrics)
}

// gateMetric is 1 where the feature gate in its label name is on.
const gateMetric = "kubernetes_feature_enabled"

// parseGates finds the feature gates in metrics of the Prometheus text format.
func parseGates(metrics []byte) (featureGates, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(metrics))
	if err != nil {
		return nil, fmt.Errorf("read the feature gates: %w", err)
	}
	gates := featureGates{}
	for _, metric := range families[gateMetric].GetMetric() {
		if name := label(metric, "name"); name != "" {
			gates[name] = metric.GetGauge().GetValue() == 1
		}
	}
	if len(gates) == 0 {
		return nil, fmt.Errorf("read the feature gates: the metrics hold no %s", gateMetric)
	}
	return gates, nil
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
