package schedule

import (
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// prompt reports whether a scheduled time is noticed in time, so that it was not missed.
func prompt(scheduled, now time.Time) bool { return now.Sub(scheduled) <= lateAfter }

// caughtUp returns which of the scheduled times that have come since the last look,
// ascending, get their runs: they are the last of them. Why says for those before them that
// they are not caught up; empty where a later one took their place.
func (s Spec) caughtUp(times []time.Time, now time.Time) (kept []time.Time, why string) {
	last := len(times) - 1
	if last < 0 {
		return nil, ""
	}
	first, most := last, 1
	if s.catchesUpAll() {
		most = s.catchUpLimit()
	}
	for first >= 0 && last-first < most && s.mayCatchUp(times[first], now) {
		first--
	}
	if first >= 0 && !s.mayCatchUp(times[first], now) {
		why = ReasonNotCaughtUp
	} else if first >= 0 && s.catchesUpAll() {
		why = ReasonCatchUpLimit
	}
	return times[first+1:], why
}

// mostApart is how many missed times are told apart where an edit has replaced the schedule:
// at least as many as are caught up.
func (s Spec) mostApart() int {
	if s.catchesUpAll() {
		return max(s.catchUpLimit()+1, tooManyMissed)
	}
	return tooManyMissed
}

// mayCatchUp reports whether the run of a scheduled time may start, late as it is.
func (s Spec) mayCatchUp(scheduled, now time.Time) bool {
	switch {
	case prompt(scheduled, now):
		return true
	case s.CatchUp == ostinatov1.CatchUpNone:
		return false
	case s.CatchUpWindowSeconds != nil:
		return now.Truncate(time.Second).Sub(scheduled) <= deadline(*s.CatchUpWindowSeconds)
	}
	return true
}

// recent returns the last scheduled times in (after, now] that may be caught up, ascending,
// and at most one more than the limit.
func (l timeline) recent(spec Spec, after, now time.Time) []time.Time {
	if spec.CatchUpWindowSeconds != nil {
		// Those within lateAfter count in any case.
		window := max(deadline(*spec.CatchUpWindowSeconds), lateAfter)
		after = later(after, now.Add(-window-time.Second))
	}
	most := spec.catchUpLimit() + 1
	if l.more(after, now, most) {
		// What comes in (low, now] is more than there may be, what comes in (high, now] is not.
		low, high := after.Unix(), now.Unix()
		for high-low > 1 {
			if middle := low + (high-low)/2; l.more(time.Unix(middle, 0), now, most) {
				low = middle
			} else {
				high = middle
			}
		}
		after = time.Unix(high, 0)
	}
	var times []time.Time
	for next := l.next(after); !next.IsZero() && !next.After(now); next = l.next(next) {
		times = append(times, next)
	}
	return times
}

// more reports whether there are more than most times in (after, until].
func (l timeline) more(after, until time.Time, most int) bool {
	next := after
	for range most + 1 {
		if next = l.next(next); next.IsZero() || next.After(until) {
			return false
		}
	}
	return true
}

// lastLate returns the last of the times that were not noticed in time; zero if all were.
func lastLate(times []time.Time, now time.Time) time.Time {
	var late time.Time
	for _, scheduled := range times {
		if !prompt(scheduled, now) {
			late = scheduled
		}
	}
	return late
}

// catchUp divides what has come since the anchor: Missed, Waiting and Due.
func (e *Evaluation) catchUp(line timeline, spec Spec, after, now time.Time, apart []time.Time) {
	missed, due := line.passed(after, now, apart)
	if due.IsZero() {
		return
	}
	if !spec.catchesUpAll() {
		e.Missed, e.Due = missed, due
		var why string
		if !spec.mayCatchUp(due, now) {
			e.Missed, e.Due, why = line.missed(after, now, apart), time.Time{}, ReasonNotCaughtUp
		} else if last := len(missed) - 1; last >= 0 && !spec.mayCatchUp(missed[last].Last, now) {
			why = ReasonNotCaughtUp
		}
		e.because(why)
		return
	}
	kept, why := spec.caughtUp(line.recent(spec, after, now), now)
	if len(kept) == 0 {
		e.Missed = line.missed(after, now, apart)
		e.because(ReasonNotCaughtUp)
		return
	}
	last := len(kept) - 1
	e.Waiting, e.Due, e.CaughtUp = kept[:last:last], kept[last], lastLate(kept, now)
	e.Missed = line.missed(after, kept[0].Add(-time.Second), apart)
	if why == "" {
		why = ReasonNotCaughtUp
	}
	e.because(why)
}

// because says why the missed times are not caught up.
func (e *Evaluation) because(why string) {
	for i := range e.Missed {
		e.Missed[i].Reason = why
	}
}
