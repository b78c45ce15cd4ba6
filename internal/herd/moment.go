package herd

import (
	"context"
	"time"
)

const (
	// maxWait bounds how long what is less urgent waits for the creates of the same moment.
	maxWait = 15 * time.Second
	// silence is how long a moment waits for one start more, for each that has come: on a busy machine a
	// herd comes in drops, and what follows its first starts would slow down the last ones.
	silence = time.Millisecond
)

// moment is one scheduled time, as long as starts of it are under way.
type moment struct {
	of  *Herd
	key int64
	// coming is the number of starts under way; calm is closed when it has been 0 for as long as silence
	// says, which quiet waits for.
	coming int
	quiet  *time.Timer
	calm   chan struct{}
	// come are all starts of it, by namespace and in all, and unwaited those of them that did not wait for the others.
	come          map[string]int
	all, unwaited int
}

// Come counts in a start of a scheduled time.
func (h *Herd) Come(scheduled time.Time, namespace string) *Start {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	key := scheduled.Unix()
	known := h.at[key]
	if known == nil {
		known = &moment{of: h, key: key, calm: make(chan struct{}), come: map[string]int{}}
		h.at[key] = known
	}
	if known.quiet != nil {
		known.quiet.Stop()
	}
	known.coming++
	known.come[namespace]++
	known.all++
	return &Start{moment: known, namespace: namespace}
}

// Start is one start of a moment. The zero value is that of a run without a time, which belongs to none.
type Start struct {
	moment    *moment
	namespace string
	left      bool
}

// Leave counts the start out, once: its Job is made.
func (s *Start) Leave() {
	if s.moment == nil || s.left {
		return
	}
	s.left = true
	all := s.moment.of
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if s.moment.coming--; s.moment.coming == 0 {
		all.settle(s.moment)
	}
}

// settle ends the moment when no more starts of it come.
func (h *Herd) settle(of *moment) {
	end := func() {
		close(of.calm)
		delete(h.at, of.key)
	}
	if of.all == 1 {
		end()
		return
	}
	of.quiet = time.AfterFunc(time.Duration(of.all)*silence, func() {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if of.coming == 0 && h.at[of.key] == of {
			end()
		}
	})
}

// Yield lets the other starts of the moment go first, for 15 s at most and half of what the context leaves.
func (s *Start) Yield(ctx context.Context) {
	if s.moment == nil {
		return
	}
	all := s.moment.of
	all.mutex.Lock()
	calm, unwaited := s.moment.calm, s.moment.lets(s.namespace)
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
	case <-calm:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// lets reports whether a run goes on before the others of its moment are started: it is of a namespace that has few of
// them, and they are few that do so. A herd of one namespace does not hold up what another's one run does next.
func (m *moment) lets(namespace string) bool {
	const few = 16
	if m.come[namespace]*few > m.all || m.unwaited*few >= m.all {
		return false
	}
	m.unwaited++
	return true
}
