package main

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/bridge"
	"ostinato.dev/ostinato/internal/telemetry"
)

// metricTables adds a table of the metrics of each process.
func metricTables(_ *source, tables map[string]string) error {
	worker, bridges, both := &recorder{}, &recorder{}, &recorder{}
	telemetry.RegisterKubernetesClient(both)
	telemetry.RegisterBuild(both)
	// Nothing is sent: an Event would have to be emitted first.
	client, err := kubernetes.NewForConfig(&rest.Config{})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	activities.NewMetrics(worker)
	telemetry.StickyCachePurges(worker)
	_, stop := activities.StartEvents(context.Background(), client, worker)
	stop()
	bridge.NewMetrics(bridges)
	for name, recorded := range map[string]*recorder{"metrics of the worker": worker, "metrics of the bridge": bridges, "metrics of both": both} {
		if recorded.err != nil {
			return recorded.err
		}
		slices.SortFunc(recorded.rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		tables[name] = table([]string{"metric", "type", "labels", "HELP"}, recorded.rows)
	}
	return nil
}

// recorder is a registerer that keeps a row for each metric.
type recorder struct {
	rows [][]string
	err  error
}

// described is how a description of a metric prints; it has no other way to be read.
var described = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), unit: "", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// Register implements prometheus.Registerer.
func (r *recorder) Register(collector prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		collector.Describe(descs)
	}()
	for desc := range descs {
		parts := described.FindStringSubmatch(desc.String())
		if parts == nil {
			r.err = fmt.Errorf("the description of a metric can't be read: %s", desc)
			continue
		}
		name, help := unquoted(parts[1]), unquoted(parts[2])
		labels := ""
		if parts[3] != "" {
			labels = code(strings.Split(parts[3], ",")...)
		}
		r.rows = append(r.rows, []string{code(name), kindOfMetric(collector, name), labels, strings.TrimSuffix(help, ".")})
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *recorder) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		_ = r.Register(collector) // It returns no error.
	}
}

// Unregister implements prometheus.Registerer.
func (r *recorder) Unregister(prometheus.Collector) bool { return false }

// kindOfMetric returns the type of a metric. One that we collect ourselves is a counter by its name, or a gauge.
func kindOfMetric(collector prometheus.Collector, name string) string {
	of := strings.ToLower(strings.TrimSuffix(reflect.Indirect(reflect.ValueOf(collector)).Type().Name(), "Vec"))
	switch {
	case slices.Contains([]string{"counter", "gauge", "histogram"}, of):
		return of
	case strings.HasSuffix(name, "_total"):
		return "counter"
	}
	return "gauge"
}

func unquoted(text string) string {
	plain, err := strconv.Unquote(text)
	if err != nil {
		return text
	}
	return plain
}
