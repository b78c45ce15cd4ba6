package schedule

import (
	"slices"
	"time"
)

// maxFormer bounds Calendar.Former. Where a CronJob is edited more often while it is
// suspended, the times of the oldest schedule are taken for those of the next.
const maxFormer = 10

// FormerSchedule is a schedule that an edit has replaced, kept while times that it named have
// no outcome.
type FormerSchedule struct {
	Schedule string  `json:"schedule"`
	TimeZone *string `json:"timeZone,omitempty"`
	// Until is when the workflow heard of the edit. The times up to then are this schedule's.
	Until time.Time `json:"until"`
}

// replaceSchedule notes that an edit has replaced the schedule. When it was made is not
// known: what the schedule names before and after it stays due.
func (s *State) replaceSchedule(from Spec, now time.Time) {
	former := append(s.Calendar.Former, FormerSchedule{Schedule: from.Schedule, TimeZone: from.TimeZone, Until: now})
	s.Calendar.Former = former[max(len(former)-maxFormer, 0):]
	s.Calendar.Upcoming = nil
}

// closeFormer forgets the former schedules once each of their times has its outcome. While
// the CronJob is suspended they are not looked up.
func (s *State) closeFormer(spec Spec) {
	last := len(s.Calendar.Former) - 1
	if last < 0 || spec.Suspend || spec.Deleting || !s.Calendar.madeFor(spec) {
		return
	}
	until := s.Calendar.Former[last].Until
	if waiting := s.queue(); len(waiting) == 0 || waiting[0].After(until) {
		s.Settled, s.Calendar.Former = later(s.Settled, until), nil
	}
}

// replaced returns the times that have come by former schedules since the anchor: those that
// the present one names too, and the stretches of those that it does not; and from when on
// the present one counts alone. The present one is nil where it can't be used. Of times that
// both name the last ones are told apart, most at most.
func (a Anchor) replaced(present *timeline, most int, now time.Time) (both []time.Time, changed []MissedRuns, since time.Time) {
	since = a.start()
	for _, former := range a.Former {
		until := former.Until
		if now.Before(until) {
			until = now
		}
		calculator, problem := Parse(former.Schedule, former.TimeZone)
		if problem == nil && until.After(since) {
			line := a.timeline(calculator)
			var named []time.Time
			if present != nil {
				named = line.both(*present, since, until)
				named = named[max(len(named)-most, 0):]
			}
			for _, stretch := range line.missed(since, until, ascending(a.Apart, named)) {
				if _, found := slices.BinarySearchFunc(named, stretch.First, time.Time.Compare); !found {
					stretch.Reason = ReasonScheduleChanged
					changed = append(changed, stretch)
				}
			}
			both = append(both, named...)
		}
		since = later(since, until)
	}
	return both, changed, since
}

func ascending(a, b []time.Time) []time.Time {
	times := slices.Concat(a, b)
	slices.SortFunc(times, time.Time.Compare)
	return times
}
