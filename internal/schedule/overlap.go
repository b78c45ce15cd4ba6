package schedule

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
)

const (
	// defaultQueueLimit stands in for spec.queueLimit.
	defaultQueueLimit = 10
	// defaultCatchUpLimit stands in for spec.catchUpLimit.
	defaultCatchUpLimit = 100
	// mostWaiting is the most that either may be.
	mostWaiting = 1000
	// mostInState bounds all that waits, also before an edit of the limits drops some.
	mostInState = 4 * mostWaiting
)

// Capacity returns how many runs may be active at once; 0 means any number.
func (s Spec) Capacity() int {
	switch {
	case s.MaxConcurrent > 0:
		return int(s.MaxConcurrent)
	case s.ConcurrencyPolicy == batchv1.AllowConcurrent:
		return 0
	}
	return 1
}

// queues reports whether runs wait their turn while others are active.
func (s Spec) queues() bool { return s.ConcurrencyPolicy == ostinatov1.QueueConcurrent }

// catchesUpAll reports whether all missed runs are started. Under Replace they would replace one another.
func (s Spec) catchesUpAll() bool {
	return s.CatchUp == ostinatov1.CatchUpAll && s.ConcurrencyPolicy != batchv1.ReplaceConcurrent
}

// inOrder reports whether waiting runs queue, the oldest first. Otherwise at most one waits, and the next replaces it.
func (s Spec) inOrder() bool { return s.queues() || s.catchesUpAll() }

// limit is a limit of the spec's with its default and its bound.
func limit(value int32, otherwise int) int {
	if value <= 0 {
		return otherwise
	}
	return min(int(value), mostWaiting)
}

// full reports whether no more runs may be active.
func (s *State) full(spec Spec) bool {
	capacity := spec.Capacity()
	return capacity > 0 && len(s.Active) >= capacity
}

// heldBack reports whether a start has to wait until an active run has ended.
func (s *State) heldBack(spec Spec) bool {
	return spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent && s.full(spec)
}

// replacements are the deletes of the oldest runs that make room for another one.
func (s *State) replacements(spec Spec) []Delete {
	if spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
		return nil
	}
	var deletes []Delete
	for _, run := range s.Active[:max(len(s.Active)-spec.Capacity()+1, 0)] {
		deletes = append(deletes, Delete{Name: run.Name, UID: run.UID, Replaced: true})
	}
	return deletes
}

// alreadyActive is the Event of a run that is held back; upstream's words where upstream has them (parity 1.9).
func alreadyActive(spec Spec) event.Event {
	if spec.MaxConcurrent == 0 && !spec.queues() {
		return event.Normal("JobAlreadyActive",
			"Not starting job because prior execution is running and concurrency policy is Forbid")
	}
	return event.Normal("JobAlreadyActive", fmt.Sprintf(
		"Not starting job because as many executions are running as may be (%d) and concurrency policy is %s", spec.Capacity(), spec.ConcurrencyPolicy))
}
