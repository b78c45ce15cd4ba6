// Package herd orders what one process does for runs that are due at once: each waits until its time has come, takes its
// turn to create, and lets the others of its herd go first before it does what is less urgent. Namespaces share the
// places to wait in, and the turns.
package herd

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"ostinato.dev/ostinato/internal/order"
)

// ErrNoPlace says that so many starts wait for their time that others would be kept from work.
var ErrNoPlace = errors.New("too many starts wait")

// Herds is where the starts of one process wait. It is safe for concurrent use.
type Herds struct {
	clock   clock.WithTicker
	creates *FairSemaphore
	places  heldStarts
	// mutex guards the herds.
	mutex sync.Mutex
	at    map[int64]*herd
}

// New returns a Herds. At most places starts wait in it for their time; namespaces share the places by their weights.
func New(clock clock.WithTicker, places int, weights order.Weights) *Herds {
	return &Herds{clock: clock, creates: NewTurns(weights), places: heldStarts{weights: weights, places: places}, at: map[int64]*herd{}}
}

// Hold waits while early says that there is time left, by a clock that may be set meanwhile. It reports
// whether it has waited. The error is ErrNoPlace or that of the context.
func (h *Herds) Hold(ctx context.Context, namespace string, early func() time.Duration) (waited bool, err error) {
	left := early()
	if left <= 0 {
		return false, nil
	}
	if !h.places.enter(namespace) {
		return false, ErrNoPlace
	}
	defer h.places.exit(namespace)
	for ; left > 0; left = early() {
		timer := h.clock.NewTimer(left)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return true, ctx.Err()
		}
	}
	return true, nil
}

// Turn waits for a turn to replace and create. The error is the context's.
func (h *Herds) Turn(ctx context.Context, namespace string) (leave func(), err error) {
	return h.creates.Take(ctx, namespace)
}

const (
	// maxWait bounds how long what is less urgent waits for the creates of the same herd.
	maxWait = 2 * time.Second
	// silence is how long a herd waits for one start more, for each that has joined: on a busy machine a
	// herd comes in drops, and what follows its first starts would slow down the last ones.
	silence = time.Millisecond
)

// herd is one scheduled time, as long as starts of it are under way.
type herd struct {
	of  *Herds
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
func (h *Herds) Join(scheduled time.Time, namespace string) *Start {
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
	of, herds := s.herd, s.herd.of
	herds.mutex.Lock()
	defer herds.mutex.Unlock()
	if of.starting--; of.starting > 0 {
		return
	}
	// The herd ends when no more starts of it come.
	end := func() {
		close(of.idle)
		delete(herds.at, of.key)
	}
	if of.all == 1 {
		end()
		return
	}
	of.quiet = time.AfterFunc(time.Duration(of.all)*silence, func() {
		herds.mutex.Lock()
		defer herds.mutex.Unlock()
		if of.starting == 0 && herds.at[of.key] == of {
			end()
		}
	})
}

// Yield lets the other starts of the herd go first, for two seconds at most and half of what the context leaves.
func (s *Start) Yield(ctx context.Context) {
	if s.herd == nil {
		return
	}
	// A run goes on before the others of its herd are started where it is of a namespace that has few of them, and they are
	// few that do so. A herd of one namespace does not hold up what another's one run does next.
	const few = 16
	of, herds := s.herd, s.herd.of
	herds.mutex.Lock()
	unwaited := of.joined[s.namespace]*few <= of.all && of.unwaited*few < of.all
	if unwaited {
		of.unwaited++
	}
	herds.mutex.Unlock()
	if unwaited {
		return
	}
	limit := maxWait
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	timer := herds.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-of.idle:
	case <-timer.C():
	case <-ctx.Done():
	}
}

// generosity is how many times what is left a namespace of weight 1 may have.
const generosity = 64

// heldStarts are a number of places that are taken or refused at once, without a line. A namespace may have 64 times as many, by
// its weight, as would be left free: one alone gets nearly all (1,009 of 1,024), and what is left is for others. (The
// dynamic threshold by which switches share a buffer, by Choudhury and Hahne.) It is safe for concurrent use.
type heldStarts struct {
	mutex   sync.Mutex
	weights order.Weights
	// places is how many there are.
	places int
	taken  int
	by     map[string]int
}

// enter takes a place; it reports whether the namespace may have it.
func (r *heldStarts) enter(namespace string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if left := r.places - r.taken; left <= 0 || float64(r.by[namespace]) >= generosity*r.weights.Of(namespace)*float64(left) {
		return false
	}
	if r.by == nil {
		r.by = map[string]int{}
	}
	r.taken++
	r.by[namespace]++
	return true
}

// exit gives a place back.
func (r *heldStarts) exit(namespace string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.taken--
	if r.by[namespace]--; r.by[namespace] == 0 {
		delete(r.by, namespace)
	}
}
