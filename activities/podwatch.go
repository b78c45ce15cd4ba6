package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"k8s.io/client-go/tools/cache"

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
	informer, err := k8s.NewPodInformer(a.Kubernetes, selector)
	if err != nil {
		return fmt.Errorf("make Pod informer of watch shard %d: %w", input.Shard, err)
	}
	failure := &lastError{}
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *cache.Reflector, err error) {
		failure.set(err)
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
	}); err != nil {
		return fmt.Errorf("set the Pod informer's error handler: %w", err)
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

	return a.tend(ctx, registration, failure, func() { watcher.start(running, &group) }, watcher)
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

// lastError keeps the informer's last error.
type lastError struct{ value atomic.Value }

func (l *lastError) set(err error) { l.value.Store(fmt.Errorf("%w", err)) }

func (l *lastError) get() error {
	if err, ok := l.value.Load().(error); ok {
		return err
	}
	return errors.New("no answer")
}
