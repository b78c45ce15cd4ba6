package payloadcodec

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

const (
	// lookInterval is how often the files of the keys are looked at while payloads
	// come and go.
	lookInterval = 10 * time.Second
	// unknownInterval is the same when a payload names a key that is not known.
	unknownInterval = time.Second
)

// keyring are the keys as their files have them now.
type keyring struct {
	path string
	// encrypting is the ID of a key that must be there; empty when none is needed.
	encrypting string
	clock      clock.PassiveClock
	logger     *slog.Logger

	current atomic.Pointer[keys]
	looked  atomic.Int64
	looking sync.Mutex
	// problem is the last one logged, so that each is logged once.
	problem string
}

func newKeyring(path, encrypting string, clock clock.PassiveClock, logger *slog.Logger) (*keyring, error) {
	ring := &keyring{path: path, encrypting: encrypting, clock: clock, logger: logger}
	if err := ring.look(); err != nil {
		return nil, err
	}
	return ring, nil
}

// keys returns the keys, read anew when they have not been for a while.
func (r *keyring) keys() *keys {
	if r.due(lookInterval) && r.looking.TryLock() {
		r.lookAgain(lookInterval)
	}
	return r.current.Load()
}

// keysWith is keys for a payload that names a key: one that is not known may have
// come a moment ago.
func (r *keyring) keysWith(id string) *keys {
	known := r.keys()
	if _, ok := known.sealers[id]; ok || !r.due(unknownInterval) {
		return known
	}
	r.looking.Lock()
	r.lookAgain(unknownInterval)
	return r.current.Load()
}

func (r *keyring) due(interval time.Duration) bool {
	return r.clock.Now().UnixNano()-r.looked.Load() >= int64(interval)
}

// lookAgain reads the keys and unlocks. Files that can't be used change nothing:
// what was read before goes on being used.
func (r *keyring) lookAgain(interval time.Duration) {
	defer r.looking.Unlock()
	if !r.due(interval) {
		return // another did meanwhile
	}
	err := r.look()
	switch {
	case err == nil:
		r.problem = ""
	case err.Error() != r.problem:
		r.problem = err.Error()
		r.logger.Error("payload keys can't be read anew; those read before are used on", "error", err)
	}
}

func (r *keyring) look() error {
	r.looked.Store(r.clock.Now().UnixNano())
	read, err := readKeys(r.path)
	if err != nil {
		return err
	}
	if _, ok := read.sealers[r.encrypting]; r.encrypting != "" && !ok {
		return fmt.Errorf("payload keys in %s: %q, which is to encrypt, is not among %s", r.path, r.encrypting, strings.Join(read.ids(), ", "))
	}
	if before := r.current.Load(); before == nil || !before.equal(read) {
		r.current.Store(&read)
		r.logger.Info("payload keys are read", "keys", read.ids(), "encrypting", r.encrypting)
	}
	return nil
}
