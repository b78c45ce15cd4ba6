package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"ostinato.dev/ostinato/test/exposition"
)

// Cost is what the API server and etcd have had to do since they started.
type Cost struct {
	// Requests are those for objects, of everybody, without what goes on by itself: leases, nodes and watches.
	Requests int
	// Stored is what etcd keeps, in bytes, earlier revisions included.
	Stored int64
}

const (
	requestsMetric = "apiserver_request_total"
	storedMetric   = "etcd_mvcc_db_total_size_in_use_in_bytes"
)

// Cost reads what the API server and etcd have had to do.
func (h *Harness) Cost(ctx context.Context) (Cost, error) {
	stream, err := h.Kubernetes.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return Cost{}, fmt.Errorf("read the API server's metrics: %w", err)
	}
	requests, err := total(stream, requestsMetric, asked)
	if err != nil {
		return Cost{}, err
	}
	metrics, err := h.Stack.ControlPlane.EtcdMetrics(ctx)
	if err != nil {
		return Cost{}, err
	}
	stored, err := total(metrics, storedMetric, func(map[string]string) bool { return true })
	return Cost{Requests: int(requests), Stored: int64(stored)}, err
}

// total adds up the samples of a metric whose labels are wanted.
func total(text io.ReadCloser, metric string, wanted func(labels map[string]string) bool) (float64, error) {
	counts, err := exposition.Counts(text, []string{metric}, func(name string, labels map[string]string) string {
		if !wanted(labels) {
			return ""
		}
		return name
	})
	return counts[metric], errors.Join(err, text.Close())
}

// asked reports whether requests with these labels are for objects, by somebody who wants something of them.
func asked(labels map[string]string) bool {
	return labels["resource"] != "" && labels["verb"] != "WATCH" && !slices.Contains([]string{"leases", "nodes"}, labels["resource"])
}

// quiet is how long MeasureCost looks at what goes on anyway.
const quiet = 2 * time.Second

// MeasureCost begins to measure. What it returns ends that: it says what the API server and etcd have had to do beside what
// goes on anyway. A test that measures does not run in parallel with others.
func (h *Harness) MeasureCost(t *testing.T) (since func() Cost) {
	t.Helper()
	read := func() (Cost, time.Time) {
		t.Helper()
		cost, err := h.Cost(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return cost, time.Now()
	}
	idle, idleFrom := read()
	select {
	case <-time.After(quiet):
	case <-t.Context().Done():
	}
	before, from := read()
	return func() Cost {
		t.Helper()
		after, at := read()
		periods := float64(at.Sub(from)) / float64(from.Sub(idleFrom))
		anyway := Cost{
			Requests: int(periods * float64(before.Requests-idle.Requests)),
			Stored:   int64(periods * float64(max(0, before.Stored-idle.Stored))),
		}
		cost := Cost{Requests: after.Requests - before.Requests - anyway.Requests, Stored: after.Stored - before.Stored - anyway.Stored}
		t.Logf("%d requests to the API server, etcd grew by %d bytes, in %s", cost.Requests, cost.Stored, at.Sub(from).Round(time.Millisecond))
		return cost
	}
}
