package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// defaultQueueLimit stands in for spec.queueLimit.
	defaultQueueLimit = 10
	// defaultCatchUpLimit stands in for spec.catchUpLimit.
	defaultCatchUpLimit = 100
	// maxWaiting bounds both.
	maxWaiting = 1000
	// maxInState bounds all that waits, also before an edit of the limits drops some.
	maxInState = 4 * maxWaiting
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
	return min(int(value), maxWaiting)
}

// full reports whether no more runs may be active.
func (s *State) full(spec Spec) bool {
	capacity := spec.Capacity()
	return capacity > 0 && len(s.Active) >= capacity
}

// atCapacity reports whether a start has to wait until an active run has ended.
func (s *State) atCapacity(spec Spec) bool {
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

// come takes in scheduled times that have come, ascending: missed ones, then those to be started, which up to caughtUp
// are late. If runs start in order, they queue; otherwise the last one replaces the one that was due.
func (s *State) come(spec Spec, missed []MissedRuns, kept []time.Time, caughtUp time.Time) {
	if !spec.inOrder() {
		s.missAll(s.queue(), "")
		s.Calendar.Missed = append(s.Calendar.Missed, missed...)
		s.setQueue(kept[max(len(kept)-1, 0):])
		return
	}
	s.Calendar.Missed = append(s.Calendar.Missed, missed...)
	s.Calendar.CaughtUp = times.Later(s.Calendar.CaughtUp, caughtUp)
	for _, scheduled := range kept {
		if !spec.queues() && scheduled.After(caughtUp) {
			// It replaces one before it that was held back. Those that are caught up stay.
			_, came := times.Split(s.queue(), s.Calendar.CaughtUp)
			s.missAll(came, ledger.ReasonJobAlreadyActive)
		}
		s.setQueue(append(s.queue(), scheduled))
	}
}

// single is a missed time by itself.
func single(scheduled time.Time, reason string) MissedRuns {
	return MissedRuns{times.Stretch{First: scheduled, Last: scheduled, Count: 1}, reason}
}

// compare orders by time.
func (m MissedRuns) compare(other MissedRuns) int { return m.First.Compare(other.First) }

// queue returns the scheduled times that have come and wait to be started, ascending.
func (s *State) queue() []time.Time {
	if s.Calendar.Due.IsZero() {
		return nil
	}
	return append([]time.Time{s.Calendar.Due}, s.Calendar.Waiting...)
}

// setQueue replaces them: the first is the due one.
func (s *State) setQueue(waiting []time.Time) {
	if s.Calendar.Due, s.Calendar.Waiting = (time.Time{}), nil; len(waiting) > 0 {
		s.Calendar.Due, s.Calendar.Waiting = waiting[0], append([]time.Time(nil), waiting[1:]...)
	}
}

// takeOut takes a time out of those that wait.
func (s *State) takeOut(scheduled time.Time) {
	s.setQueue(slices.DeleteFunc(s.queue(), scheduled.Equal))
}

// missAll makes times that wait missed ones.
func (s *State) missAll(waiting []time.Time, reason string) {
	for _, scheduled := range waiting {
		s.takeOut(scheduled)
		s.Calendar.Missed = append(s.Calendar.Missed, single(scheduled, reason))
	}
}

// dropOverflow makes room in a queue that has become too long: the oldest are missed.
func (s *State) dropOverflow(spec Spec) {
	if !spec.inOrder() {
		return
	}
	caught, came := times.Split(s.queue(), s.Calendar.CaughtUp)
	// A run that can start at once does not wait.
	room := maxWaiting
	if capacity := spec.Capacity(); capacity > 0 {
		room = max(capacity-len(s.Active)-len(caught), 0)
	}
	s.missAll(came[:max(len(came)-limit(spec.QueueLimit, defaultQueueLimit)-room, 0)], ledger.ReasonQueueFull)
	s.missAll(caught[:max(len(caught)-maxWaiting, 0)], ledger.ReasonCatchUpLimit)
}

// disband leaves only the latest of the runs that wait, where the CronJob no longer asks for an order.
func (s *State) disband(now time.Time) {
	waiting := s.queue()
	for _, scheduled := range waiting[:max(len(waiting)-1, 0)] {
		s.settle(single(scheduled, "").entry(ledger.Entry{Recorded: now, Outcome: ledger.SkippedSuperseded, Reason: ledger.ReasonPolicyChanged}))
	}
	s.Calendar.CaughtUp = time.Time{}
}

// announceQueue announces and counts what has begun to wait since the last time.
func (s *State) announceQueue(spec Spec) {
	_, fresh := times.Split(s.queue(), s.Calendar.Announced)
	if !spec.inOrder() || len(fresh) == 0 {
		return
	}
	s.Calendar.Announced = fresh[len(fresh)-1]
	s.Ledger = s.Ledger.Count(ledger.Queued, int64(len(fresh)))
	if s.atCapacity(spec) {
		s.Outbox = append(s.Outbox, alreadyActive(spec))
	}
}

// Queue returns the entry of the runs that wait for others to end; nil if none waits.
func (s State) Queue() *ledger.Entry {
	waiting, _ := times.Split(s.queue(), s.Calendar.Announced)
	if len(waiting) == 0 {
		return nil
	}
	reason, message := s.delay(waiting[0]).why()
	entry := MissedRuns{Stretch: times.Stretch{First: waiting[0], Last: waiting[len(waiting)-1], Count: int64(len(waiting))}}.entry(
		ledger.Entry{Outcome: ledger.Queued, Reason: cmp.Or(reason, ledger.ReasonJobAlreadyActive), Message: ledger.Bounded(message)})
	return &entry
}

// Rows returns the ledger with the runs that wait as its last entry.
func (s State) Rows() []ledger.Entry {
	if queue := s.Queue(); queue != nil {
		return append(slices.Clip(s.Ledger.Entries), *queue)
	}
	return s.Ledger.Entries
}

// PageOf returns the rows that are asked for, with those of what waits.
func PageOf(state State, question ledger.Question) ledger.Page {
	waiting := state.waitingTriggers()
	if queue := state.Queue(); queue != nil {
		waiting = slices.Insert(waiting, 0, *queue)
	}
	return state.Ledger.Page(question, waiting)
}

// accounted returns the time up to which each scheduled time has its outcome.
func (s State) accounted() time.Time {
	if waiting := s.queue(); len(waiting) > 0 && !waiting[0].After(s.Settled) {
		return waiting[0].Add(-time.Second)
	}
	return s.Settled
}
