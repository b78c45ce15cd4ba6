package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// watchHeartbeat is how often WatchPods reports that it lives.
	watchHeartbeat = 2 * time.Second
	// watchSyncTimeout bounds the first list of Pods; then the attempt fails, so
	// that the reason shows in Temporal.
	watchSyncTimeout = time.Minute
	// watchSenders bounds the signals and writes that are under way.
	watchSenders = 16
)

// watchDetails is the heartbeat of WatchPods, for people to read. Nothing in it
// is needed to go on: what is not accounted carries the tracking finalizer.
type watchDetails struct {
	Synced      bool  `json:"synced"`
	Jobs        int   `json:"jobs"`
	Pods        int   `json:"pods"`
	Signals     int64 `json:"signals"`
	Facts       int64 `json:"facts"`
	Projections int64 `json:"projections"`
}

// WatchPods watches the Pods of one shard, signals Job workflows with the facts
// that matter to them, and keeps status.ready of their Jobs. It runs until it is
// cancelled, or until its worker stops, and then returns a retryable error.
//
// It remembers nothing: an attempt that takes over lists the Pods, and signals
// those that ended and still carry the tracking finalizer, and those that are
// being deleted. Facts that arrive twice merge.
func (a *Activities) WatchPods(ctx context.Context, input protocol.PodWatchInput) error {
	selector, err := k8s.ShardSelector(input.Shard, input.Shards)
	if err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), RefusedErrorType, nil)
	}
	failure := &lastError{clock: a.Clock, logger: activity.GetLogger(ctx)}
	informer, err := k8s.NewPodInformer(a.Kubernetes, k8s.PodInformerOptions{Namespaces: a.Namespaces, Selector: selector, OnError: failure.set})
	if err != nil {
		return fmt.Errorf("make Pod informer of watch shard %d: %w", input.Shard, err)
	}
	watcher := newPodWatcher(a, activity.GetLogger(ctx))
	registration, err := informer.AddEventHandler(watcher.handler())
	if err != nil {
		return fmt.Errorf("handle Pod events: %w", err)
	}

	running, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer watcher.queue.ShutDown()
	defer cancel()
	group.Go(func() { informer.RunWithContext(running) })

	start := func() {
		watcher.start(running, &group)
		if a.TakeOverJobs {
			group.Go(func() { watcher.sweep(running, input) })
		}
	}
	return a.tend(ctx, registration, failure, start, watcher)
}

// tend heartbeats until the activity is to end. It starts the senders when the
// first list is complete: before, "no other Pod is running" can't be known.
func (a *Activities) tend(ctx context.Context, registration cache.ResourceEventHandlerRegistration, failure *lastError, start func(), watcher *podWatcher) error {
	ticker := time.NewTicker(watchHeartbeat)
	defer ticker.Stop()
	timeout := time.NewTimer(watchSyncTimeout)
	defer timeout.Stop()
	synced := registration.HasSyncedChecker().Done()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-activity.GetWorkerStopChannel(ctx):
			return temporal.NewApplicationErrorWithOptions("the worker is stopping", WorkerStoppingErrorType,
				temporal.ApplicationErrorOptions{NextRetryDelay: 100 * time.Millisecond})
		case <-synced:
			synced = nil
			timeout.Stop()
			start()
			activity.RecordHeartbeat(ctx, watcher.details())
		case <-timeout.C:
			if synced != nil {
				return outage(failure.get(), "list Pods within %v", watchSyncTimeout)
			}
		case <-ticker.C:
			activity.RecordHeartbeat(ctx, watcher.details())
		}
	}
}

// lastError keeps the informer's last error, and logs now and then that there is one.
type lastError struct {
	clock  clock.PassiveClock
	logger log.Logger
	mutex  sync.Mutex
	last   error
	logged time.Time
}

// errorLogInterval is how often an outage of the API server is logged.
const errorLogInterval = 30 * time.Second

func (l *lastError) set(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.last = err
	if now := l.clock.Now(); l.logged.IsZero() || now.Sub(l.logged) >= errorLogInterval {
		l.logged = now
		l.logger.Warn("the Pods can't be watched, will retry", "error", err)
	}
}

func (l *lastError) get() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.last != nil {
		return l.last
	}
	return errors.New("no answer")
}
