package activities

import (
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/protocol"
)

// AlreadyWatchedErrorType: this process watches the shard already; retryable. Temporal may hand out the next attempt of
// a watch, or the watch of the next run of its workflow, before the process hears that the one before is over.
const AlreadyWatchedErrorType = "AlreadyWatched"

// watchRetry is the pause before a refused watch is asked for again, whatever retry policy it was asked for with.
const watchRetry = time.Second

// watches are the shards whose Pods this process watches. The zero value is ready. A watch holds all Pods of its shard, so
// that a second one would take as much memory again.
type watches struct {
	mutex sync.Mutex
	// under has, for each shard, the run of the workflow that it is watched for.
	under map[protocol.PodWatchInput]string
}

// begin takes a shard for a run, until end is called. A shard that is taken is an error, whichever run asks: a watch that
// is over for Temporal hears so by its next heartbeat.
func (w *watches) begin(shard protocol.PodWatchInput, run string) (end func(), err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if holder, taken := w.under[shard]; taken {
		return nil, temporal.NewApplicationErrorWithOptions("this process watches the shard already, for run "+holder,
			AlreadyWatchedErrorType, temporal.ApplicationErrorOptions{NextRetryDelay: watchRetry})
	}
	if w.under == nil {
		w.under = map[protocol.PodWatchInput]string{}
	}
	w.under[shard] = run
	return func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		delete(w.under, shard)
	}, nil
}
