package schedule

import (
	"time"
)

// MostLead bounds State.Lead. It is also how long a run's start may be held, and so how
// long before the due time a signal has to be accepted to be sure to win.
const MostLead = 2 * time.Second

// TooEarly is the refusal of a start whose time has not come and that can't be held until
// then.
const TooEarly = "TooEarly"

// leads are the values of State.Lead, ascending. They are few, so that the timer of the
// next run is rarely set anew.
var leads = []time.Duration{500 * time.Millisecond, time.Second, MostLead}

// LeadFor returns how early to wake for a run, where it took so long from the wake until
// its Job could be created. Where nothing else is to be done it is zero: the wake is soon
// enough.
func LeadFor(lag time.Duration) time.Duration {
	const idle = 100 * time.Millisecond
	if lag <= idle {
		return 0
	}
	for _, lead := range leads {
		if lag+lag/2 <= lead {
			return lead
		}
	}
	return MostLead
}

// Ahead returns the time of the next run where it is time to prepare its start, so that
// only the create is left for the due time.
func Ahead(state State, spec Spec, now time.Time) (due time.Time, ok bool) {
	if state.lead() == 0 || len(state.Calendar.Upcoming) == 0 || spec.Suspend || spec.Deleting || state.heldBack(spec) {
		return time.Time{}, false
	}
	due = state.Calendar.Upcoming[0]
	return due, now.Before(due) && !now.Before(due.Add(-state.lead()))
}

// DecideAhead says what Decide will say at the due time, where that is to start the run.
// Nothing of it may be carried out before: Start.Scheduled says so. Otherwise it is left
// for the due time.
func DecideAhead(state State, spec Spec, due time.Time) (plan Plan, ok bool) {
	plan = Decide(state, spec, due)
	start := plan.Start
	if plan.Search || start == nil || start.Manual || !start.Scheduled.Equal(due) {
		return Plan{}, false
	}
	start.Lead = state.lead()
	return plan, true
}

// WakesAhead reports whether a wake is that for Ahead.
func WakesAhead(state State, wake time.Time) bool {
	return state.lead() > 0 && len(state.Calendar.Upcoming) > 0 && wake.Equal(state.Calendar.Upcoming[0].Add(-state.lead()))
}

// lead is Lead, which anybody who may write to Temporal may have made up, within bounds.
func (s State) lead() time.Duration { return min(max(s.Lead, 0), MostLead) }

// takeLead takes what a worker has said of the moment of the last run: where it started
// the run that is the lead from now on, later it can only have become longer.
func (s *State) takeLead(plan Plan, report Report) {
	switch {
	case plan.Start != nil && !plan.Start.Manual && report.Started != nil:
		s.Lead = report.Lead
	default:
		s.Lead = max(s.Lead, report.Lead)
	}
	s.Lead = s.lead()
}

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
	earliest(s.HeldBack.Until)
	if spec.Deleting {
		return wake
	}
	earliest(s.Judging.Until)
	if trigger := s.nextTrigger(spec); trigger != nil {
		earliest(trigger.Retry.Until)
	}
	if backfill := s.nextBackfill(spec); backfill != nil {
		earliest(backfill.Retry.Until)
	}
	if len(s.Calendar.Upcoming) > 0 {
		earliest(s.Calendar.Upcoming[0])
		earliest(s.Calendar.Recheck)
		if early := s.Calendar.Upcoming[0].Add(-s.lead()); early.After(now) && !s.heldBack(spec) {
			earliest(early)
		}
	}
	if s.Pending != nil && !s.Calendar.Due.IsZero() && !s.Pending.Blocked && !spec.Suspend && !s.pausing(spec) {
		earliest(s.Pending.Retry.Until)
	}
	return wake
}
