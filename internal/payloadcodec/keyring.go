package payloadcodec

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lookInterval    = 10 * time.Second // how often the files of the keys are looked at while payloads come and go
	unknownInterval = time.Second      // the same when a payload names a key that is not known
)

// keyring is a codec with the keys as their files have them now.
type keyring struct {
	Options
	current atomic.Pointer[keys]
	looked  atomic.Int64
	looking sync.Mutex
	problem string // the last one logged, so that each is logged once
}

// keysFor returns the keys for a payload that one of them encrypts, read anew when they have not been for a while. One
// that is not known may have come a moment ago, so its payload waits for the look.
func (r *keyring) keysFor(id string) keys {
	_, known := (*r.current.Load())[id]
	switch {
	case known && r.due(lookInterval) && r.looking.TryLock():
		r.lookAgain(lookInterval)
	case !known && r.due(unknownInterval):
		r.looking.Lock()
		r.lookAgain(unknownInterval)
	}
	return *r.current.Load()
}

func (r *keyring) due(interval time.Duration) bool {
	return time.Now().UnixNano()-r.looked.Load() >= int64(interval)
}

// lookAgain reads the keys and unlocks. Files that can't be used change nothing: what was read before goes on being used.
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
		r.Logger.Error("payload keys can't be read anew; those read before are used on", "error", err)
	}
}

func (r *keyring) look() error {
	r.looked.Store(time.Now().UnixNano())
	read, err := readKeys(r.Path)
	if err != nil {
		return err
	}
	if _, ok := read[r.EncryptWith]; r.EncryptWith != "" && !ok {
		return fmt.Errorf("payload keys in %s: %q, which is to encrypt, is not among %s", r.Path, r.EncryptWith, strings.Join(read.ids(), ", "))
	}
	if before := r.current.Load(); before == nil || !before.equal(read) {
		r.current.Store(&read)
		r.Logger.Info("payload keys are read", "keys", read.ids(), "encrypting", r.EncryptWith)
	}
	return nil
}
