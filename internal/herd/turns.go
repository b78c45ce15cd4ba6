package herd

import (
	"context"
	"sync"

	"ostinato.dev/ostinato/internal/order"
)

// Turns bounds how many do something at a time. Who waits for a turn is served by namespaces (order.Line).
// It is safe for concurrent use.
type Turns struct {
	mutex     sync.Mutex
	free, all int
	line      order.Line[chan struct{}]
}

// NewTurns returns Turns for so many at a time, of namespaces with weightt.
func NewTurns(all int, weights order.Weights) *Turns {
	return &Turns{free: all, all: all, line: order.Line[chan struct{}]{Weights: weights}}
}

// Take waits for a turn. The error is that of the context.
func (t *Turns) Take(ctx context.Context, namespace string) (leave func(), err error) {
	called := make(chan struct{})
	t.mutex.Lock()
	t.line.Join(namespace, called)
	t.call()
	t.mutex.Unlock()
	select {
	case <-called:
		return t.leave, nil
	case <-ctx.Done():
	}
	t.mutex.Lock()
	waited := t.line.Leave(namespace, called)
	t.mutex.Unlock()
	if !waited {
		// The turn came with the end of the wait.
		t.leave()
	}
	return nil, ctx.Err()
}

func (t *Turns) leave() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.free++
	t.call()
	if t.free == t.all {
		t.line.Forget()
	}
}

// call gives free turns to those who are next.
func (t *Turns) call() {
	for t.free > 0 {
		called, ok := t.line.Next()
		if !ok {
			return
		}
		t.free--
		close(called)
	}
}
