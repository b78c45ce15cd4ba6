package schedule

import (
	"time"
)

// MaxLead bounds how long before its time a run is prepared. A signal accepted earlier than that is sure to win.
const MaxLead = 4 * time.Second

// Ahead returns the time of the next run, if it is time to prepare its start.
func Ahead(state State, spec Spec, now time.Time) (due time.Time, ok bool) {
	if len(state.Calendar.Upcoming) == 0 || spec.Suspend || spec.Deleting || state.heldBack(spec) {
		return time.Time{}, false
	}
	due = state.Calendar.Upcoming[0]
	return due, now.Before(due) && !now.Before(due.Add(-state.lead()))
}

// DecideAhead says what Decide will say at the due time, if that is to start the run. Nothing of it may be carried out
// before Start.Scheduled.
func DecideAhead(state State, spec Spec, due time.Time) (plan Plan, ok bool) {
	plan = Decide(state, spec, due)
	start := plan.Start
	if start == nil || start.Manual || !start.Scheduled.Equal(due) {
		return Plan{}, false
	}
	return plan, true
}

// WakesAhead reports whether a wake is for Ahead.
func WakesAhead(state State, wake time.Time) bool {
	if len(state.Calendar.Upcoming) == 0 {
		return false
	}
	lead := state.lead()
	return lead > 0 && wake.Equal(state.Calendar.Upcoming[0].Add(-lead))
}

// lead is how long before its time the next run is prepared, whatever a forged state says.
func (s State) lead() time.Duration { return min(max(s.Calendar.Lead, 0), MaxLead) }

// wake returns the next time at which the plan can change by itself.
func (s *State) wake(spec Spec, now time.Time) time.Time {
	var wake time.Time
	earliest := func(t time.Time) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	earliest(s.Prune.Until)
	earliest(s.StatusRetry.Until)
	if spec.Deleting {
		return wake
	}
	if s.template().ObservedGeneration != spec.Generation {
		// A run may have proved it since.
		earliest(s.Judging.Until)
	}
	if trigger := s.nextTrigger(spec); trigger != nil {
		earliest(trigger.Retry.Until)
	}
	if backfill := s.nextBackfill(spec); backfill != nil {
		earliest(backfill.Retry.Until)
	}
	if s.Calendar.rechecks() && !spec.Suspend {
		earliest(s.Calendar.Recheck)
	}
	if len(s.Calendar.Upcoming) > 0 {
		earliest(s.Calendar.Upcoming[0])
		if early := s.Calendar.Upcoming[0].Add(-s.lead()); early.After(now) && !s.heldBack(spec) {
			earliest(early)
		}
	}
	if s.Pending != nil && s.mayStartDue(spec) && !s.heldBack(spec) {
		earliest(s.Pending.Retry.Until)
	}
	return wake
}
