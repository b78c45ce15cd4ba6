package podwatch

import (
	"cmp"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// When status.ready is written.
const (
	readyDelay  = time.Second      // how long readiness has to stay changed before it is projected
	readySpread = 30 * time.Second // the time over which the readiness of Jobs found at start is projected
	// readySettle is how long after a signal or a new Pod the workflow may yet
	// write a number of active Pods below a projected readiness, and so lower it.
	readySettle = 5 * time.Second
)

// readiness is what is known of a Job's status.ready.
type readiness struct {
	shown     int32     // what was projected last, 0 for a Job without Pods that can run
	since     time.Time // when shown began to differ from the Pods' readiness, or to be uncertain
	uncertain bool      // another writer may have written something else
}

func (r *readiness) distrust(since time.Time) { r.uncertain, r.since = true, since }

// newPod takes that a Pod is seen for the first time.
func (r *readiness) newPod(job types.UID, initial bool, now time.Time) {
	switch {
	case initial:
		r.distrust(now.Add(spread(job)))
	case r.shown > 0:
		// A new Pod comes with a status, which may lower readiness.
		r.distrust(now)
	}
}

// decideReady projects readiness that has differed, or been uncertain, for long
// enough. Of a Job without active Pods the workflow's status says 0.
func (w *watchedJob) decideReady(now time.Time, result *decision) {
	switch {
	case w.remaining == 0:
		w.ready = readiness{}
		return
	case w.running == w.ready.shown && !w.ready.uncertain:
		w.ready.since = time.Time{}
		return
	}
	w.ready.since = cmp.Or(w.ready.since, now)
	if due := w.ready.since.Add(readyDelay); now.Before(due) {
		result.again = earliest(result.again, due)
		return
	}
	result.project, result.ready = true, w.running
}

// projected records that ready was written, or that the Job did not take it: its
// status, with the active Pods in it, is then still to come.
func (w *watchedJob) projected(ready int32, taken bool, now time.Time) {
	w.ready = readiness{shown: ready}
	if !taken {
		w.ready.distrust(now.Add(readySettle - readyDelay))
		return
	}
	if settled := w.lastSignal.Add(readySettle); now.Before(settled) {
		w.ready.distrust(settled.Add(-readyDelay))
	}
}

// spread returns a delay below readySpread that depends on the Job only.
func spread(uid types.UID) time.Duration {
	hash := fnv.New32a()
	hash.Write([]byte(uid))
	return time.Duration(hash.Sum32()) % readySpread
}
