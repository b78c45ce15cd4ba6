package ui

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
)

// rightsFor is how long an answer about a right is good for showing a button. A press of it is judged anew.
const rightsFor = time.Minute

// rights are what the person may do, as the API server has said lately.
type rights struct {
	backend Backend
	mutex   sync.Mutex
	known   map[rightIn]judged
}

type rightIn struct {
	namespace string
	right     ask.Right
}

type judged struct {
	may bool
	at  time.Time
}

func newRights(backend Backend) *rights {
	return &rights{backend: backend, known: map[rightIn]judged{}}
}

// may reports whether the person has a right, as of lately.
func (r *rights) may(ctx context.Context, namespace string, right ask.Right) (bool, error) {
	asked := rightIn{namespace, right}
	r.mutex.Lock()
	known, found := r.known[asked]
	r.mutex.Unlock()
	if found && time.Since(known.at) < rightsFor {
		return known.may, nil
	}
	may, err := r.backend.May(ctx, namespace, right)
	if err != nil {
		return false, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.known[asked] = judged{may, time.Now()}
	return may, nil
}

// refusal says which right is missing.
func refusal(namespace string, right ask.Right) string {
	return fmt.Sprintf("You may not %s in namespace %s: a Role with that right would let you.", right, namespace)
}
