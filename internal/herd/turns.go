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
	// maxUnderWay is how many turns there are in all. A namespace may have half as many as are left: however many hang, some are
	// left for another.
	maxUnderWay = 256
)

// FairSemaphore bounds how many do something at a time. Who waits for a turn is served by namespaces (order.Line).
// It is safe for concurrent use.
type FairSemaphore struct {
	mutex sync.Mutex
	line  order.Line[*turn]
	// free are the places, and left the turns that there may be beside those under way: one that has lasted patience has no place.
	free, left int
	// underWay are the turns of each namespace.
	underWay map[string]int
}

// turn is one that is waited for or taken.
type turn struct {
	of        *FairSemaphore
	namespace string
	called    chan struct{}
	// aging makes it slow.
	aging      *time.Timer
	slow, over bool
}

// NewTurns returns a FairSemaphore for requests to the API server: 64 at a time, and beside them what has lasted a second.
// There are at most 256 turns in all, and a namespace gets no further one while it has half as many as are left.
func NewTurns(weights order.Weights) *FairSemaphore {
	return &FairSemaphore{line: order.Line[*turn]{Weights: weights}, free: maxTurns, left: maxUnderWay, underWay: map[string]int{}}
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
	t.over = true
	s.left++
	if s.underWay[t.namespace]--; s.underWay[t.namespace] == 0 {
		delete(s.underWay, t.namespace)
	}
	if !t.slow {
		s.free++
	}
	t.aging.Stop()
	s.call()
	if len(s.underWay) == 0 {
		s.line.Forget()
	}
}

// age gives a turn's place back.
func (t *turn) age() {
	s := t.of
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if t.over {
		return
	}
	t.slow = true
	s.free++
	s.call()
}

// call gives free turns to those who are next.
func (s *FairSemaphore) call() {
	for s.free > 0 {
		next, ok := s.line.NextOf(func(namespace string) bool { return 2*s.underWay[namespace] < s.left })
		if !ok {
			return
		}
		s.free--
		s.left--
		s.underWay[next.namespace]++
		next.aging = time.AfterFunc(patience, next.age)
		close(next.called)
	}
}
