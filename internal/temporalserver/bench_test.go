package temporalserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/temporalserver/authority"
)

// BenchmarkRuns measures the server under the shape of a one-pod run: a workflow that does a local activity, waits for
// one signal, does another and completes. The worker is in the same process. One operation is one workflow:
//
//	go test ./internal/temporalserver -run '^$' -bench Runs -benchtime 2000x
func BenchmarkRuns(b *testing.B) {
	for _, store := range []string{"file", "memory"} {
		for _, shards := range []int{1, 4, 16} {
			for _, door := range []string{"open", "asking"} {
				b.Run(fmt.Sprintf("%s/shards=%d/%s", store, shards, door), func(b *testing.B) {
					o := Options{HistoryShards: shards}
					if store == "file" {
						o.Open = files(b.TempDir())
					}
					// As cmd/temporal has it.
					defer debug.SetGCPercent(debug.SetGCPercent(400))
					benchmarkRuns(b, doors[door](b, o)(authority.Worker))
				})
			}
		}
	}
}

const (
	benchQueue    = "bench"
	benchClients  = 16
	benchSignal   = "done"
	signalLatency = 500 * time.Millisecond
)

// startedRun is a workflow whose first local activity ran at a time.
type startedRun struct {
	id string
	at time.Time
}

func benchmarkRuns(b *testing.B, c client.Client) {
	started := make(chan startedRun, b.N)
	var finished atomic.Int64
	all := make(chan struct{})
	first := func(_ context.Context, id string) error {
		started <- startedRun{id: id, at: time.Now()}
		return nil
	}
	last := func(context.Context) error {
		if finished.Add(1) == int64(b.N) {
			close(all)
		}
		return nil
	}
	run := func(ctx workflow.Context) error {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second})
		if err := workflow.ExecuteLocalActivity(ctx, first, workflow.GetInfo(ctx).WorkflowExecution.ID).Get(ctx, nil); err != nil {
			return err
		}
		workflow.GetSignalChannel(ctx, benchSignal).Receive(ctx, nil)
		return workflow.ExecuteLocalActivity(ctx, last).Get(ctx, nil)
	}
	w := worker.New(c, benchQueue, worker.Options{
		MaxConcurrentWorkflowTaskPollers: 16,
		DisableRegistrationAliasing:      true,
	})
	w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: "run"})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)

	before := processorTime(b)
	b.ResetTimer()
	var clients sync.WaitGroup
	var next atomic.Int64
	for range benchClients {
		clients.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				_, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("run-%d", n), TaskQueue: benchQueue}, "run")
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	var signalled atomic.Int64
	for range benchClients {
		clients.Go(func() {
			for signalled.Add(1) <= int64(b.N) {
				s := <-started
				<-time.After(time.Until(s.at.Add(signalLatency)))
				if err := c.SignalWorkflow(b.Context(), s.id, "", benchSignal, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	<-all
	b.StopTimer()
	elapsed := b.Elapsed()
	used := processorTime(b) - before
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "workflows/s")
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/workflow")
	b.ReportMetric(used.Seconds()/elapsed.Seconds(), "cores")
}

// processorTime is the user and system time of this process so far.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
