package schedule

import (
	"slices"
	"time"
)

// come takes in scheduled times that have come, ascending: those that are missed, and then
// those that are to be started, of which the ones up to caughtUp are late. Where runs start
// in order, they wait behind those that wait already; otherwise the last one takes the place
// of the one that was due.
func (s *State) come(spec Spec, missed []MissedRuns, kept []time.Time, caughtUp time.Time) {
	if !spec.inOrder() {
		s.supersede()
		s.Calendar.Missed = append(s.Calendar.Missed, missed...)
		if last := len(kept) - 1; last >= 0 {
			s.Calendar.Due = kept[last]
		}
		return
	}
	s.Calendar.Missed = append(s.Calendar.Missed, missed...)
	s.Calendar.CaughtUp = later(s.Calendar.CaughtUp, caughtUp)
	for _, scheduled := range kept {
		if !spec.queues() && scheduled.After(caughtUp) {
			s.supersedePrompt()
		}
		s.Calendar.Waiting = append(s.Calendar.Waiting, scheduled)
	}
	s.promote()
}

// single is a missed time by itself.
func single(scheduled time.Time, reason string) MissedRuns {
	return MissedRuns{First: scheduled, Last: scheduled, Count: 1, Reason: reason}
}

// compare orders by time.
func (m MissedRuns) compare(other MissedRuns) int { return m.First.Compare(other.First) }

// promote makes the run that has waited longest the due one, where there is none.
func (s *State) promote() {
	if s.Calendar.Due.IsZero() && len(s.Calendar.Waiting) > 0 {
		s.Calendar.Due, s.Calendar.Waiting = s.Calendar.Waiting[0], slices.Clone(s.Calendar.Waiting[1:])
	}
}

// queue returns the scheduled times that have come and wait to be started, ascending.
func (s *State) queue() []time.Time {
	if s.Calendar.Due.IsZero() {
		return nil
	}
	return append([]time.Time{s.Calendar.Due}, s.Calendar.Waiting...)
}

// takeOut takes a time out of those that wait.
func (s *State) takeOut(scheduled time.Time) {
	if s.Calendar.Due.Equal(scheduled) {
		s.Calendar.Due = time.Time{}
	}
	s.Calendar.Waiting = slices.DeleteFunc(slices.Clone(s.Calendar.Waiting), scheduled.Equal)
	s.promote()
}

// supersedePrompt has the next time that comes take the place of the one that came before it
// and was held back. Those that are caught up stay.
func (s *State) supersedePrompt() {
	for _, scheduled := range s.queue() {
		if scheduled.After(s.Calendar.CaughtUp) {
			s.takeOut(scheduled)
			s.Calendar.Missed = append(s.Calendar.Missed, single(scheduled, ReasonJobAlreadyActive))
		}
	}
}

// dropOverflow makes room in a queue that has become too long: the oldest are missed.
func (s *State) dropOverflow(spec Spec) {
	if !spec.inOrder() {
		return
	}
	var came, caught []time.Time
	for _, scheduled := range s.queue() {
		if scheduled.After(s.Calendar.CaughtUp) {
			came = append(came, scheduled)
		} else {
			caught = append(caught, scheduled)
		}
	}
	// A run that can start at once does not wait.
	over := len(came) - spec.queueLimit() - s.room(spec, len(caught))
	for _, scheduled := range came[:max(over, 0)] {
		s.takeOut(scheduled)
		s.Calendar.Missed = append(s.Calendar.Missed, single(scheduled, ReasonQueueFull))
	}
	for _, scheduled := range caught[:max(len(caught)-mostWaiting, 0)] {
		s.takeOut(scheduled)
		s.Calendar.Missed = append(s.Calendar.Missed, single(scheduled, ReasonCatchUpLimit))
	}
}

// room returns how many runs can start beside those that are active and others.
func (s *State) room(spec Spec, others int) int {
	capacity := spec.Capacity()
	if capacity == 0 {
		return mostWaiting
	}
	return max(capacity-len(s.Active)-others, 0)
}

// disband leaves only the latest of the runs that wait, where the CronJob does not ask for
// an order any more.
func (s *State) disband(now time.Time) {
	waiting := s.queue()
	for _, scheduled := range waiting[:max(len(waiting)-1, 0)] {
		s.takeOut(scheduled)
		s.settle(single(scheduled, "").entry(LedgerEntry{Recorded: now, Outcome: SkippedSuperseded, Reason: ReasonPolicyChanged}))
	}
	s.Calendar.CaughtUp = time.Time{}
}

// announceQueue tells, and counts, what has begun to wait since the last time.
func (s *State) announceQueue(spec Spec) {
	if !spec.inOrder() {
		return
	}
	var fresh []time.Time
	for _, scheduled := range s.queue() {
		if scheduled.After(s.Calendar.Announced) {
			fresh = append(fresh, scheduled)
		}
	}
	if len(fresh) == 0 {
		return
	}
	s.Calendar.Announced = fresh[len(fresh)-1]
	s.tally(LedgerEntry{Outcome: Queued, Count: int64(len(fresh))})
	if s.heldBack(spec) {
		s.Outbox = append(s.Outbox, alreadyActive(spec))
	}
}

// Queue returns the entry of the runs that wait for others to end: those are Queued until
// they have another outcome. It is nil where none waits.
func (s State) Queue() *LedgerEntry {
	var waiting []time.Time
	for _, scheduled := range s.queue() {
		if !scheduled.After(s.Calendar.Announced) {
			waiting = append(waiting, scheduled)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	entry := LedgerEntry{Scheduled: waiting[0], Outcome: Queued, Reason: ReasonJobAlreadyActive}
	if s.Pending != nil && s.Pending.Reason != "" && s.Pending.Scheduled.Equal(s.Calendar.Due) {
		entry.Reason, entry.Message = ReasonFailedCreate, bounded(s.Pending.text())
	}
	if last := len(waiting) - 1; last > 0 {
		entry.Until, entry.Count = waiting[last], int64(len(waiting))
	}
	return &entry
}

// Rows returns the ledger with the runs that wait as its last entry.
func (s State) Rows() []LedgerEntry {
	if queue := s.Queue(); queue != nil {
		return append(slices.Clone(s.Ledger), *queue)
	}
	return s.Ledger
}

// accounted returns the time up to which each scheduled time has its outcome.
func (s State) accounted() time.Time {
	if waiting := s.queue(); len(waiting) > 0 && !waiting[0].After(s.Settled) {
		return waiting[0].Add(-time.Second)
	}
	return s.Settled
}
