package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/test/exposition"
)

func TestPercentile(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for fraction, want := range map[float64]time.Duration{0: 1, 0.2: 1, 0.21: 2, 0.5: 3, 0.99: 5, 1: 5} {
		assert.Equal(t, want, percentile(values, fraction), fraction)
	}
	assert.Zero(t, percentile(nil, 0.5))
	assert.Equal(t, []time.Duration{5, 1, 4, 2, 3}, values, "the argument stays as it is")
}

func TestPercentileIsAValueThatTheFractionDoesNotExceed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.Int64Range(0, 1000), func(v int64) time.Duration { return time.Duration(v) }), 1, 200).Draw(t, "values")
		fraction := rapid.Float64Range(0, 1).Draw(t, "fraction")
		found := percentile(values, fraction)
		upTo, below := 0, 0
		for _, value := range values {
			if value <= found {
				upTo++
			}
			if value < found {
				below++
			}
		}
		size := float64(len(values))
		if upTo == below || float64(upTo) < fraction*size || float64(below) >= fraction*size && below > 0 {
			t.Fatalf("percentile %v of %v is not %v", fraction, values, found)
		}
	})
}

const apiServerMetrics = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="",verb="POST",version="v1"} 300
apiserver_request_total{code="200",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="status",verb="APPLY",version="v1"} 600
apiserver_request_total{code="409",component="apiserver",dry_run="",group="batch",resource="jobs",scope="resource",subresource="status",verb="APPLY",version="v1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="batch",resource="jobs",scope="namespace",subresource="",verb="LIST",version="v1"} 9
apiserver_request_total{code="403",component="",dry_run="",group="",resource="",scope="",subresource="/x",verb="POST",version=""} 9
# TYPE apiserver_request_total_other counter
apiserver_request_total_other{verb="POST",resource="jobs"} 7
# TYPE go_goroutines gauge
go_goroutines 5
`

func TestWritesAreCountedByVerbAndResource(t *testing.T) {
	writes, err := exposition.Counts(strings.NewReader(apiServerMetrics), []string{"apiserver_request_total"}, writeKey)
	require.NoError(t, err)
	assert.EqualValues(t, counts{"POST jobs": 300, "APPLY jobs/status": 600, "APPLY jobs/status (409)": 2}, writes)
}

func TestTemporalCallsAreCountedByOperation(t *testing.T) {
	calls, err := exposition.Counts(strings.NewReader(`# TYPE temporal_request_total counter
temporal_request_total{namespace="default",operation="RespondWorkflowTaskCompleted",task_queue="ostinato"} 3
temporal_request_total{namespace="default",operation="RespondWorkflowTaskCompleted",task_queue="other"} 4
# TYPE temporal_long_request_total counter
temporal_long_request_total{operation="PollWorkflowTaskQueue"} 9
`), []string{temporalRequests, temporalLongRequests}, temporalKey)
	require.NoError(t, err)
	assert.EqualValues(t, counts{"RespondWorkflowTaskCompleted": 7, "PollWorkflowTaskQueue": 9}, calls)
}

func TestCountsSince(t *testing.T) {
	delta := counts{"a": 5, "b": 2, "c": 1}.since(counts{"a": 1, "b": 2})
	assert.Equal(t, counts{"a": 4, "c": 1}, delta, "what did not change is left out")
	assert.Equal(t, 5.0, delta.sum())
	assert.Equal(t, []string{"a", "c"}, delta.keys(), "largest first")
}

func TestOwnProcessIsMeasured(t *testing.T) {
	meter, err := startUsage(nil)
	require.NoError(t, err)
	for deadline := time.Now().Add(100 * time.Millisecond); time.Now().Before(deadline); {
		_ = os.Getpid()
	}
	usage, err := meter.read()
	require.NoError(t, err)
	require.Equal(t, []string{"bench", others}, []string{usage[0].name, usage[1].name})
	assert.Greater(t, usage[0].cpuSeconds, 0.0)
	assert.Less(t, usage[0].cpuSeconds, 60.0)
	assert.Greater(t, usage[0].peakBytes, uint64(1<<20))
}

const top = `File: worker
Type: cpu
Time: 2026-11-21 09:00:00 UTC
Duration: 20s, Total samples = 1500ms ( 7.50%)
Showing nodes accounting for 1500ms, 100% of 1500ms total
      flat  flat%   sum%        cum   cum%
     500ms 33.33% 33.33%      500ms 33.33%  runtime.futex
     400ms 26.67% 60.00%      900ms 60.00%  modernc.org/sqlite/lib._sqlite3VdbeExec
     300ms 20.00% 80.00%      300ms 20.00%  runtime.mallocgc (inline)
     200ms 13.33% 93.33%      200ms 13.33%  google.golang.org/grpc/internal/transport.(*loopyWriter).run
     100ms  6.67%   100%      100ms  6.67%  slices.SortFunc[go.shape.[]k8s.io/api/core/v1.Pod,go.shape.struct { A.b }]
         0     0%   100%      100ms  6.67%  main.main
`

func TestProfileIsSummedUpByPackage(t *testing.T) {
	functions, err := parseTop(strings.NewReader(top))
	require.NoError(t, err)
	require.Len(t, functions, 6)
	assert.Equal(t, share{name: "runtime.futex", time: 500 * time.Millisecond}, functions[0])
	assert.Equal(t, []share{
		{"runtime", 800 * time.Millisecond},
		{"modernc.org/sqlite/lib", 400 * time.Millisecond},
		{"google.golang.org/grpc/internal/transport", 200 * time.Millisecond},
		{"slices", 100 * time.Millisecond},
		{"main", 0},
	}, byPackage(functions))
}

func TestTextThatIsNoProfileIsAnError(t *testing.T) {
	for _, text := range []string{"", "no profile\n", "flat flat% sum% cum cum%\n1 2\n", "flat flat% sum% cum cum%\nx 1% 1% 1ms 1% main.main\n"} {
		_, err := parseTop(strings.NewReader(text))
		assert.Error(t, err, text)
	}
}

func FuzzParseTop(f *testing.F) {
	f.Add(top)
	f.Fuzz(func(t *testing.T, text string) {
		functions, err := parseTop(strings.NewReader(text))
		if err == nil {
			byPackage(functions)
		}
	})
}
