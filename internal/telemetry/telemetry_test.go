package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/telemetry"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func serve(t *testing.T, options telemetry.ServerOptions) *telemetry.Server {
	t.Helper()
	if options.Registry == nil {
		options.Registry = telemetry.NewRegistry()
	}
	if options.Health == nil {
		options.Health = &telemetry.Health{}
	}
	options.Logger = slog.New(slog.DiscardHandler)
	server, err := telemetry.Serve(options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	return server
}

func TestTheBuildIsAmongTheMetrics(t *testing.T) {
	server := serve(t, telemetry.ServerOptions{MetricsAddress: "127.0.0.1:0"})
	_, body := get(t, "http://"+server.MetricsAddress+"/metrics")
	build := command.ThisBuild()
	assert.Contains(t, body, fmt.Sprintf("ostinato_build_info{goversion=%q,revision=%q,version=%q} 1\n", build.Go, build.Revision, build.Version))
}

func TestReadinessFollowsTheChecks(t *testing.T) {
	var problem error
	health := &telemetry.Health{}
	health.Add("always", func(context.Context) error { return nil })
	health.Add("temporal", func(context.Context) error { return problem })
	server := serve(t, telemetry.ServerOptions{HealthAddress: "127.0.0.1:0", Health: health})

	status, body := get(t, "http://"+server.HealthAddress+"/readyz")
	assert.Equal(t, http.StatusOK, status, body)

	problem = errors.New("no connection")
	status, body = get(t, "http://"+server.HealthAddress+"/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "not ready: temporal\n", body, "why, which may name addresses, is for the log")

	status, _ = get(t, "http://"+server.HealthAddress+"/healthz")
	assert.Equal(t, http.StatusOK, status, "a process that waits for others is alive")
}

func TestCachedCheckAsksSeldom(t *testing.T) {
	calls := 0
	check := telemetry.Cached(func(context.Context) error { calls++; return errors.New("x") }, time.Hour)
	for range 3 {
		assert.Error(t, check(context.Background()))
	}
	assert.Equal(t, 1, calls)
}

func TestMetricsAndProfilesAreServed(t *testing.T) {
	registry := telemetry.NewRegistry()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "test", MetricsProvider: telemetry.QueueMetrics(registry)})
	defer queue.ShutDown()
	queue.Add("a")
	handler, closer := telemetry.SDKMetrics(registry, slog.New(slog.DiscardHandler), nil)
	handler.WithTags(map[string]string{"operation": "StartWorkflowExecution"}).Counter("temporal_request").Inc(2)
	handler.Timer("temporal_request_latency").Record(20 * time.Millisecond)
	require.NoError(t, closer.Close())
	server := serve(t, telemetry.ServerOptions{MetricsAddress: "127.0.0.1:0", Registry: registry, Profiling: true})

	_, body := get(t, "http://"+server.MetricsAddress+"/metrics")
	for _, want := range []string{
		`workqueue_depth{name="test"} 1`,
		`temporal_request_total{operation="StartWorkflowExecution"} 2`,
		`temporal_request_latency_seconds_count 1`,
		"go_goroutines",
	} {
		assert.Contains(t, body, want)
	}
	status, _ := get(t, "http://"+server.MetricsAddress+"/debug/pprof/heap")
	assert.Equal(t, http.StatusOK, status)
}

func TestProfilesAreOffByDefault(t *testing.T) {
	server := serve(t, telemetry.ServerOptions{MetricsAddress: "127.0.0.1:0"})
	status, _ := get(t, "http://"+server.MetricsAddress+"/debug/pprof/")
	assert.Equal(t, http.StatusNotFound, status)
}

func TestATakenPortIsAnError(t *testing.T) {
	first := serve(t, telemetry.ServerOptions{MetricsAddress: "127.0.0.1:0"})
	_, err := telemetry.Serve(telemetry.ServerOptions{
		HealthAddress: first.MetricsAddress, Health: &telemetry.Health{},
		Registry: telemetry.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
	})
	assert.ErrorContains(t, err, "listen for health")
}

func TestOneLoggerForEverything(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before); klog.ClearLogger() })
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, "bridge", slog.LevelInfo, true)
	telemetry.SDKLogger(logger).Info("from the SDK", "Attempt", 1)
	klog.InfoS("from client-go")
	logger.Debug("too fine")

	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.Len(t, lines, 2)
	for i, want := range []string{"from the SDK", "from client-go"} {
		var line map[string]any
		require.NoError(t, json.Unmarshal(lines[i], &line))
		assert.Equal(t, want, line["msg"])
		assert.Equal(t, "bridge", line["program"])
	}
}

// The SDK records a few dozen of these for every workflow task.
func BenchmarkSDKMetrics(b *testing.B) {
	handler, closer := telemetry.SDKMetrics(telemetry.NewRegistry(), slog.New(slog.DiscardHandler), telemetry.Labels{"workflow_type": {"CronJob"}})
	defer closer.Close()
	tags := map[string]string{"namespace": "default", "workflow_type": "CronJob", "task_queue": "ostinato"}
	b.ReportAllocs()
	for b.Loop() {
		tagged := handler.WithTags(tags)
		tagged.Counter("temporal_workflow_task_queue_poll_succeed").Inc(1)
		tagged.Timer("temporal_workflow_task_execution_latency").Record(time.Millisecond)
	}
}
