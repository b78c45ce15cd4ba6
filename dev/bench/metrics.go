package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/test/exposition"
)

// counts are counters by a key.
type counts map[string]float64

// since returns what was added to the counters after an earlier reading.
func (c counts) since(earlier counts) counts {
	delta := counts{}
	for key, value := range c {
		if added := value - earlier[key]; added > 0 {
			delta[key] = added
		}
	}
	return delta
}

func (c counts) sum() float64 {
	var total float64
	for _, value := range c {
		total += value
	}
	return total
}

// keys returns the keys, largest count first.
func (c counts) keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b))
	})
	return keys
}

var writeVerbs = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// writeKey names a write to the API server: "PATCH jobs/status", with the code where it was refused.
func writeKey(_ string, labels map[string]string) string {
	if !slices.Contains(writeVerbs, labels["verb"]) || labels["resource"] == "" {
		return ""
	}
	key := labels["verb"] + " " + labels["resource"]
	if labels["subresource"] != "" {
		key += "/" + labels["subresource"]
	}
	if code := labels["code"]; !strings.HasPrefix(code, "2") {
		key += " (" + code + ")"
	}
	return key
}

// Metrics of the Temporal SDK: calls, and polls that wait for a task.
const (
	temporalRequests     = "temporal_request_total"
	temporalLongRequests = "temporal_long_request_total"
)

// clientRequests is client-go's count of requests to the API server.
const clientRequests = "rest_client_requests_total"

// clientKey names a request by its method.
func clientKey(_ string, labels map[string]string) string { return labels["method"] }

// temporalKey names a call to Temporal by its operation.
func temporalKey(_ string, labels map[string]string) string { return labels["operation"] }

// requestKey names a request to the API server, reads included: "LIST jobs". A watch counts when it ends.
func requestKey(_ string, labels map[string]string) string {
	if labels["resource"] == "" {
		return ""
	}
	key := labels["verb"] + " " + labels["resource"]
	if labels["subresource"] != "" {
		key += "/" + labels["subresource"]
	}
	return key
}

// kubernetesWrites reads the API server's count of writes since its start.
func kubernetesWrites(ctx context.Context, client kubernetes.Interface) (counts, error) {
	return apiServerCounters(ctx, client, writeKey)
}

// kubernetesRequests reads the API server's count of all requests for objects.
func kubernetesRequests(ctx context.Context, client kubernetes.Interface) (counts, error) {
	return apiServerCounters(ctx, client, requestKey)
}

func apiServerCounters(ctx context.Context, client kubernetes.Interface, key func(string, map[string]string) string) (counts, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	stream, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	defer stream.Close()
	return exposition.Counts(stream, []string{"apiserver_request_total"}, key)
}

// ownCounters reads counters of a worker or bridge since its start.
func ownCounters(ctx context.Context, address string, names []string, key func(string, map[string]string) string) (counts, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := get(ctx, address)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return exposition.Counts(body, names, key)
}

func get(ctx context.Context, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", address, err)
	}
	if response.StatusCode != http.StatusOK {
		text, readErr := io.ReadAll(io.LimitReader(response.Body, 500))
		return nil, errors.Join(fmt.Errorf("GET %s: %s: %s", address, response.Status, text), readErr, response.Body.Close())
	}
	return response.Body, nil
}
