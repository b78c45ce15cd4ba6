// Package queue runs work queues of keys. Namespaces share a queue by their weights, so that what one of them has in it
// does not hold up the others. A key that is added while it is handled is handled once more afterwards, never by two
// workers of a queue at a time; one that failed is tried again after a wait that doubles.
package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/order"
)

// AtOnce is what a Handler returns for a key that is to be handled again now.
const AtOnce time.Duration = -1

// Handler handles one key. It returns in what time the key is to be handled again without being added; 0 means not
// at all, AtOnce now. With an error it is tried again after the back-off, whatever the time says.
//
// The context is Run's, so a call that may end although the process is told to stop takes it by context.WithoutCancel.
type Handler[K comparable] func(ctx context.Context, key K) (again time.Duration, err error)

// Queue is a work queue of keys. It may be added to before Run and by anyone.
type Queue[K comparable] struct {
	items workqueue.TypedRateLimitingInterface[K]
}

// New returns a queue. Its name is that of its metrics, which provider makes (none
// where it is nil). A key that failed is tried again after first, doubling up to last.
func New[K comparable](name string, first, last time.Duration, shares Shares[K], clock clock.WithTicker, provider workqueue.MetricsProvider) *Queue[K] {
	ready := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{
		Name: name, MetricsProvider: provider, Clock: clock, Queue: &fair[K]{namespace: shares.Namespace, line: order.Line[K]{Weights: shares.Weights}},
	})
	delayed := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{
		Name: name, MetricsProvider: provider, Clock: clock, Queue: ready,
	})
	return &Queue[K]{items: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, last),
		workqueue.TypedRateLimitingQueueConfig[K]{DelayingQueue: delayed},
	)}
}

// Add has a key handled as soon as a worker is free. A key that waits is there once.
func (q *Queue[K]) Add(key K) { q.items.Add(key) }

// AddAfter adds a key when the time has passed.
func (q *Queue[K]) AddAfter(key K, wait time.Duration) { q.items.AddAfter(key, wait) }

// Failures is how often in a row the key has failed, for what a Handler reports.
func (q *Queue[K]) Failures(key K) int { return q.items.NumRequeues(key) }

// Run has as many workers handle keys until the context is done, and returns when
// what is under way has ended. What waits then is dropped: a Queue runs once.
func (q *Queue[K]) Run(ctx context.Context, workers int, handle Handler[K]) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for q.next(ctx, handle) {
			}
		})
	}
	<-ctx.Done()
	q.items.ShutDown()
	group.Wait()
}

// next handles one key; it returns false when no more is to be handled.
func (q *Queue[K]) next(ctx context.Context, handle Handler[K]) bool {
	key, shutDown := q.items.Get()
	if shutDown {
		return false
	}
	defer q.items.Done(key)
	if ctx.Err() != nil {
		return false
	}
	again, err := handle(ctx, key)
	if err != nil {
		q.items.AddRateLimited(key)
		return true
	}
	q.items.Forget(key)
	switch {
	case again < 0:
		q.items.Add(key)
	case again > 0:
		q.items.AddAfter(key, again)
	}
	return true
}

// Shares say who shares a Queue: the namespaces of keys, by their weights.
type Shares[K comparable] struct {
	Namespace func(K) string
	Weights   order.Weights
}

// fair is a workqueue.Queue by shares, in place of the default, which serves keys in the order in which they came.
type fair[K comparable] struct {
	namespace func(K) string
	line      order.Line[K]
}

// Touch does nothing: a key that waits and is added once more keeps its place.
func (f *fair[K]) Touch(K) {}

func (f *fair[K]) Push(key K) { f.line.Join(f.namespace(key), key) }

func (f *fair[K]) Len() int { return f.line.Len() }

func (f *fair[K]) Pop() K {
	key, _ := f.line.Next()
	// Namespaces that are gone are not to be remembered for ever.
	f.line.Forget()
	return key
}
