package queue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/order"
	"ostinato.dev/ostinato/internal/queue"
)

// object is a key of a namespace.
type object struct {
	namespace string
	number    int
}

func (o object) inNamespace() string { return o.namespace }

// newFairQueue returns a queue of a clock that goes by.
func newFairQueue(weights order.Weights) *queue.Queue[object] {
	return queue.New("fair", time.Millisecond, time.Millisecond, queue.Shares[object]{Namespace: object.inNamespace, Weights: weights}, clock.RealClock{}, nil)
}

// handled runs the queue until so many keys were handled, and returns them in their order.
func handled(t interface{ Fatalf(string, ...any) }, q *queue.Queue[object], workers, count int, handle func(object) error) []object {
	var mutex sync.Mutex
	var all []object
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	q.Run(ctx, workers, func(_ context.Context, key object) (time.Duration, error) {
		err := handle(key)
		mutex.Lock()
		defer mutex.Unlock()
		if all = append(all, key); len(all) == count {
			cancel()
		}
		return 0, err
	})
	if len(all) < count {
		t.Fatalf("%d keys were handled, want %d", len(all), count)
	}
	return all
}

func TestOneOfAnotherNamespaceIsNextButOne(t *testing.T) {
	q := newFairQueue(order.Weights{})
	for i := range 50_000 {
		q.Add(object{"tenant", i})
	}
	other := object{"other", 0}
	q.Add(other)
	require.Contains(t, handled(t, q, 1, 2, func(object) error { return nil }), other)
}

func TestNamespacesShareByTheirWeights(t *testing.T) {
	var weights order.Weights
	require.NoError(t, weights.Set("heavy=3"))
	q := newFairQueue(weights)
	for i := range 100 {
		q.Add(object{"light", i})
		q.Add(object{"heavy", i})
	}
	heavy := 0
	for _, key := range handled(t, q, 1, 40, func(object) error { return nil }) {
		if key.namespace == "heavy" {
			heavy++
		}
	}
	require.InDelta(t, 30, heavy, 1)
}

// Whatever is added while the queue runs, and however often it fails: each key is handled
// after it was added last, and never twice at a time.
func TestNothingIsLostOrHandledTwiceAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newFairQueue(order.Weights{})
		keys := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) object {
			return object{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace"), rapid.IntRange(0, 9).Draw(t, "number")}
		}), 1, 20, rapid.ID[object]).Draw(t, "keys")
		twice, failures := map[object]bool{}, map[object]int{}
		count := len(keys)
		for _, key := range keys {
			q.Add(key)
			q.Add(key)
			// One that is added while it is handled is handled again.
			if twice[key] = rapid.Bool().Draw(t, "twice"); twice[key] {
				count++
			} else if failures[key] = rapid.IntRange(0, 2).Draw(t, "failures"); failures[key] > 0 {
				count += failures[key]
			}
		}
		var mutex sync.Mutex
		busy, seen, last := map[object]bool{}, map[object]int{}, rapid.IntRange(1, 4).Draw(t, "workers")
		var problem error
		handled(t, q, last, count, func(key object) error {
			mutex.Lock()
			if busy[key] {
				problem = fmt.Errorf("%v is handled twice at a time", key)
			}
			busy[key] = true
			seen[key]++
			times := seen[key]
			if twice[key] && times == 1 {
				q.Add(key)
			}
			mutex.Unlock()
			defer func() {
				mutex.Lock()
				busy[key] = false
				mutex.Unlock()
			}()
			if times <= failures[key] {
				return fmt.Errorf("refused")
			}
			return nil
		})
		if problem != nil {
			t.Fatalf("%v", problem)
		}
		for _, key := range keys {
			want := 1 + failures[key]
			if twice[key] {
				want = 2
			}
			if seen[key] != want {
				t.Fatalf("%v was handled %d times, want %d", key, seen[key], want)
			}
		}
	})
}
