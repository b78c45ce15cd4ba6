package herd

import (
	"context"
	"sync"
	"time"

	"ostinato.dev/ostinato/internal/order"
)

const (
	// maxTurns is how many requests a process has under way that are younger than patience: the API server is no faster
	// with more, and what does not get its turn in time costs it nothing.
	maxTurns = 64
	// patience is how long a turn may last as one of these. What takes longer is most often admission, which hangs for one
	// namespace and does not keep the API server from the requests of others.
	patience = time.Second
	// maxSlow is how many turns that last longer a namespace may have and get another one.
	maxSlow = 32
	// maxUnderWay is how many turns there are in all.
	maxUnderWay = 256
)

// FairSemaphore bounds how many do something at a time. Who waits for a turn is served by namespaces (order.Line).
// It is safe for concurrent use.
type FairSemaphore struct {
	mutex sync.Mutex
	line  order.Line[*turn]
	// free are the places, and underWay all turns: a slow one has no place.
	free, underWay int
	// patience is after what time a turn is slow; 0 means never. slow are those turns, by namespace.
	patience time.Duration
	slow     map[string]int
	// maxSlow and maxUnderWay bound the slow ones of a namespace, before it gets another turn, and all turns.
	maxSlow, maxUnderWay int
}

// turn is one that is waited for or taken.
type turn struct {
	of        *FairSemaphore
	namespace string
	called    chan struct{}
	// aging makes it slow.
	aging      *time.Timer
	slow, left bool
}

// NewFairSemaphore returns a FairSemaphore that so many callers at a time may hold. Namespaces share them by their weights.
func NewFairSemaphore(places int, weights order.Weights) *FairSemaphore {
	return &FairSemaphore{line: order.Line[*turn]{Weights: weights}, free: places, maxSlow: 1, maxUnderWay: places}
}

// NewTurns returns a FairSemaphore for requests to the API server: 64 at a time, and beside them what has lasted a second.
// A namespace that has 32 of these gets no further turn until one ends. There are at most 256 turns in all.
func NewTurns(weights order.Weights) *FairSemaphore {
	s := NewFairSemaphore(maxTurns, weights)
	s.patience, s.slow, s.maxSlow, s.maxUnderWay = patience, map[string]int{}, maxSlow, maxUnderWay
	return s
}

// Take waits for a turn, which leave ends. The error is the context's.
func (s *FairSemaphore) Take(ctx context.Context, namespace string) (leave func(), err error) {
	mine := &turn{of: s, namespace: namespace, called: make(chan struct{})}
	s.mutex.Lock()
	s.line.Join(namespace, mine)
	s.call()
	s.mutex.Unlock()
	select {
	case <-mine.called:
		return mine.leave, nil
	case <-ctx.Done():
	}
	s.mutex.Lock()
	waited := s.line.Leave(namespace, mine)
	s.mutex.Unlock()
	if !waited {
		// The turn came with the end of the wait.
		mine.leave()
	}
	return nil, ctx.Err()
}

// leave ends a turn.
func (t *turn) leave() {
	s := t.of
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t.left = true
	s.underWay--
	if t.slow {
		s.slow[t.namespace]--
		if s.slow[t.namespace] == 0 {
			delete(s.slow, t.namespace)
		}
	} else {
		s.free++
	}
	if t.aging != nil {
		t.aging.Stop()
	}
	s.call()
	if s.underWay == 0 {
		s.line.Forget()
	}
}

// age gives a turn's place back: it counts against its namespace from now on.
func (t *turn) age() {
	s := t.of
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t.left {
		return
	}
	t.slow = true
	s.slow[t.namespace]++
	s.free++
	s.call()
}

// call gives free turns to those who are next.
func (s *FairSemaphore) call() {
	for s.free > 0 && s.underWay < s.maxUnderWay {
		next, ok := s.line.NextOf(func(namespace string) bool { return s.slow[namespace] < s.maxSlow })
		if !ok {
			return
		}
		s.free--
		s.underWay++
		if s.patience > 0 {
			next.aging = time.AfterFunc(s.patience, next.age)
		}
		close(next.called)
	}
}
