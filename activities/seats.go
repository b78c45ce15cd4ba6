package activities

import (
	"context"
	"sync"

	"ostinato.dev/ostinato/internal/order"
)

// seats bounds how many do something at a time. Who waits for one is served by namespaces (order.Line).
type seats struct {
	mutex     sync.Mutex
	free, all int
	line      order.Line[chan struct{}]
}

func newSeats(all int, weights order.Weights) *seats {
	return &seats{free: all, all: all, line: order.Line[chan struct{}]{Weights: weights}}
}

// take waits for a seat.
func (s *seats) take(ctx context.Context, namespace string) (leave func(), err error) {
	called := make(chan struct{})
	s.mutex.Lock()
	s.line.Join(namespace, called)
	s.call()
	s.mutex.Unlock()
	select {
	case <-called:
		return s.leave, nil
	case <-ctx.Done():
	}
	s.mutex.Lock()
	waited := s.line.Leave(namespace, called)
	s.mutex.Unlock()
	if !waited {
		// The seat came with the end of the wait.
		s.leave()
	}
	return nil, ctx.Err()
}

func (s *seats) leave() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.free++
	s.call()
	if s.free == s.all {
		s.line.Forget()
	}
}

// call gives free seats to those who are next.
func (s *seats) call() {
	for s.free > 0 {
		called, ok := s.line.Next()
		if !ok {
			return
		}
		s.free--
		close(called)
	}
}

// room is an order.Room for concurrent use.
type room struct {
	mutex sync.Mutex
	room  order.Room
}

// enter takes a place if the namespace may have one.
func (r *room) enter(namespace string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.room.Enter(namespace)
}

// exit gives it back.
func (r *room) exit(namespace string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.room.Exit(namespace)
}
