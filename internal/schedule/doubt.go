package schedule

import (
	"slices"
	"time"
)

// search returns the plan to look up Jobs, from the state before. Where runs start in order
// it is that with the missed times taken out of those that wait, so that they are settled
// by what is found, and by nothing that happens in the meantime.
func (s *State) search(before, unsettled State, spec Spec, now time.Time) Plan {
	next := before.clone()
	switch {
	case spec.inOrder() && !spec.Deleting:
		next = unsettled
	case spec.Suspend, spec.Deleting:
		// These times may be due again after the suspension, and are searched for then.
		next.Calendar = s.Calendar
		next.Calendar.Missed = before.Calendar.Missed
	}
	next.SearchedAt = now
	until := later(later(s.Searched, s.Settled), s.Created)
	if due := s.Calendar.Due; !due.IsZero() && !until.Before(due) {
		// It may start yet, although later times are settled.
		until = due.Add(-time.Second)
	}
	return Plan{Search: true, SearchUntil: until, Next: next}
}

// searchHolds is shorter than the time after which a workflow task is repeated.
const searchHolds = 5 * time.Second

// doubtStart leaves the state Doubtful where a run is due when the workflow starts: the
// status that it starts from may not list a Job that runs.
func (s *State) doubtStart(spec Spec) {
	fresh := s.Reported == nil && s.SearchedAt.IsZero()
	if fresh && !s.Calendar.Due.IsZero() && spec.Capacity() > 0 {
		s.Doubtful = true
	}
}

// doubtTriggers leaves the state Doubtful where a trigger or a backfill waits beside the run
// that is due, or beside one another: a task that is repeated may have started either.
func (s *State) doubtTriggers(spec Spec, now time.Time) {
	both := len(s.Triggers) > 0 && !s.Calendar.Due.IsZero()
	if s.nextTrigger(spec) != nil || s.mayStartDue(spec) && !s.heldBack(spec) {
		// It overtakes what is backfilled, and triggers of other policies one another.
		mixed := slices.ContainsFunc(s.Triggers, func(trigger Trigger) bool { return trigger.Overlap != "" })
		both = both || len(s.Backfills) > 0 || len(s.Triggers) > 1 && mixed
	}
	if both && s.exclusive(spec) && now.Sub(s.SearchedAt) >= searchHolds {
		s.Doubtful = true
	}
}

// mayHaveStarted reports whether a run may have started of which the state does not know.
func (s *State) mayHaveStarted(spec Spec, now time.Time) bool {
	return s.Calendar.last(now).After(s.Searched) || spec.inOrder() && len(s.queue()) > 0
}
