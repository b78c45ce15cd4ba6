package herd

import (
	"context"
	"time"
)

const (
	// maxWait bounds how long what is less urgent waits for the creates of the same herd.
	maxWait = 2 * time.Second
	// silence is how long a herd waits for one start more, for each that has joined: on a busy machine a
	// herd comes in drops, and what follows its first starts would slow down the last ones.
	silence = time.Millisecond
)

// herd is one scheduled time, as long as starts of it are under way.
type herd struct {
	of  *Room
	key int64
	// starting is the number of starts under way; idle is closed when it has been 0 for as long as silence
	// says, which quiet waits for.
	starting int
	quiet    *time.Timer
	idle     chan struct{}
	// joined are all starts of it, by namespace and in all, and unwaited those of them that did not wait for the others.
	joined        map[string]int
	all, unwaited int
}

// Join counts in a start of a scheduled time.
func (h *Room) Join(scheduled time.Time, namespace string) *Start {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	key := scheduled.Unix()
	known := h.at[key]
	if known == nil {
		known = &herd{of: h, key: key, idle: make(chan struct{}), joined: map[string]int{}}
		h.at[key] = known
	}
	if known.quiet != nil {
		known.quiet.Stop()
	}
	known.starting++
	known.joined[namespace]++
	known.all++
	return &Start{herd: known, namespace: namespace}
}

// Start is one start of a herd. The zero value is that of a run without a time, which belongs to none.
type Start struct {
	herd      *herd
	namespace string
	left      bool
}

// Leave counts the start out, once: its Job is made.
func (s *Start) Leave() {
	if s.herd == nil || s.left {
		return
	}
	s.left = true
	all := s.herd.of
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if s.herd.starting--; s.herd.starting == 0 {
		all.settle(s.herd)
	}
}

// settle ends the herd when no more starts of it come.
func (h *Room) settle(of *herd) {
	end := func() {
		close(of.idle)
		delete(h.at, of.key)
	}
	if of.all == 1 {
		end()
		return
	}
	of.quiet = time.AfterFunc(time.Duration(of.all)*silence, func() {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if of.starting == 0 && h.at[of.key] == of {
			end()
		}
	})
}

// Yield lets the other starts of the herd go first, for two seconds at most and half of what the context leaves.
func (s *Start) Yield(ctx context.Context) {
	if s.herd == nil {
		return
	}
	all := s.herd.of
	all.mutex.Lock()
	idle, unwaited := s.herd.idle, s.herd.lets(s.namespace)
	all.mutex.Unlock()
	if unwaited {
		return
	}
	limit := maxWait
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	timer := all.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// lets reports whether a run goes on before the others of its herd are started: it is of a namespace that has few of
// them, and they are few that do so. A herd of one namespace does not hold up what another's one run does next.
func (m *herd) lets(namespace string) bool {
	const few = 16
	if m.joined[namespace]*few > m.all || m.unwaited*few >= m.all {
		return false
	}
	m.unwaited++
	return true
}
