package schedule

import (
	"time"
)

// MostLead bounds State.Lead and Crowd.Lead. It is also how long a run's start may be held, and so how
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

// crowdKept is how long after a crowd the next one at the same minute of the hour is
// expected: a day, and the hour by which clocks are set.
const crowdKept = 25 * time.Hour

// Crowd is a moment at which many runs were due, which held one another up. Most crowds come
// again at the same minute of an hour: the runs between, which meet with nothing, say nothing
// of the next.
type Crowd struct {
	// At is the scheduled time.
	At time.Time `json:"at,omitzero"`
	// Lead is how early to wake for it.
	Lead time.Duration `json:"lead,omitempty"`
}

// expectedAt reports whether a run of that time may meet with the crowd again.
func (c Crowd) expectedAt(due time.Time) bool {
	after := due.Sub(c.At)
	return after >= 0 && after <= crowdKept && due.Minute() == c.At.Minute()
}

// Ahead returns the time of the next run where it is time to prepare its start, so that
// only the create is left for the due time.
func Ahead(state State, spec Spec, now time.Time) (due time.Time, ok bool) {
	if len(state.Calendar.Upcoming) == 0 || spec.Suspend || spec.Deleting || state.heldBack(spec) {
		return time.Time{}, false
	}
	due = state.Calendar.Upcoming[0]
	return due, now.Before(due) && !now.Before(due.Add(-state.lead(due)))
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
	start.Lead = state.lead(due)
	return plan, true
}

// WakesAhead reports whether a wake is that for Ahead.
func WakesAhead(state State, wake time.Time) bool {
	if len(state.Calendar.Upcoming) == 0 {
		return false
	}
	due := state.Calendar.Upcoming[0]
	lead := state.lead(due)
	return lead > 0 && wake.Equal(due.Add(-lead))
}

// lead is how early to wake for the run of that time. Anybody who may write to Temporal may
// have made up what it comes from, within bounds.
func (s State) lead(due time.Time) time.Duration {
	lead := s.Lead
	if s.Crowd.expectedAt(due) {
		lead = max(lead, s.Crowd.Lead)
	}
	return min(max(lead, 0), MostLead)
}

// takeLead takes what a worker has said of the moment of the last run: where it started
// the run that is the lead from now on, later it can only have become longer.
func (s *State) takeLead(plan Plan, report Report) {
	at, lead := s.LastScheduled, max(s.Lead, report.Lead)
	if start := plan.Start; start != nil && !start.Manual && report.Started != nil {
		at, lead = start.Scheduled, report.Lead
	}
	s.Lead = min(max(lead, 0), MostLead)
	if s.Lead >= s.Crowd.Lead || s.Crowd.expectedAt(at) || at.Sub(s.Crowd.At) > crowdKept {
		s.Crowd = Crowd{}
		if s.Lead > 0 {
			s.Crowd = Crowd{At: at, Lead: s.Lead}
		}
	}
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
	if !s.HeldBack.Follows {
		earliest(s.HeldBack.Until)
	}
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
		if early := s.Calendar.Upcoming[0].Add(-s.lead(s.Calendar.Upcoming[0])); early.After(now) && !s.heldBack(spec) {
			earliest(early)
		}
	}
	if s.Pending != nil && !s.Calendar.Due.IsZero() && !s.Pending.Blocked && !spec.Suspend && !s.pausing(spec) {
		earliest(s.Pending.Retry.Until)
	}
	return wake
}
