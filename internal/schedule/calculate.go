package schedule

import (
	"fmt"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // A zone that one worker knows must be known to all.

	"github.com/robfig/cron/v3"
)

// MaxSchedule and MaxTimeZone bound the texts of a CronJob's schedule and time zone, in bytes. The API server holds
// Ostinato's CronJobs to them, those of batch/v1 may be longer.
const MaxSchedule, MaxTimeZone = 1024, 255

// ProblemReason says in what way a schedule can't be used. The values are upstream's Event reasons (parity 1.9).
type ProblemReason string

const (
	// UnparseableSchedule: the schedule does not follow the grammar (parity 1.3).
	UnparseableSchedule ProblemReason = "UnparseableSchedule"
	// UnknownTimeZone: the time zone database does not have spec.timeZone.
	UnknownTimeZone ProblemReason = "UnknownTimeZone"
	// NeverFires: the schedule names no time that ever comes (30 February). Upstream's Event is InvalidSchedule, about
	// a time difference; ours says what to change.
	NeverFires ProblemReason = "NeverFires"
)

// Problem is a user's mistake in schedule or timeZone. It is an outcome: the CronJob waits for an edit or, where the
// zone is unknown, for a worker that knows it.
type Problem struct {
	Reason ProblemReason `json:"reason"`
	// Message is upstream's Event message, except for NeverFires.
	Message string `json:"message"`
}

// Calculator computes the scheduled times of a parsed schedule.
type Calculator struct {
	schedule cron.Schedule
	// written is the schedule as the user wrote it, for messages.
	written string
}

// Parse reads a schedule and its time zone; nil means the local zone. A zone in the schedule itself (TZ=, CRON_TZ=)
// wins, as upstream (parity 1.3). It returns either a Calculator or a Problem.
func Parse(schedule string, timeZone *string) (*Calculator, *Problem) {
	zone := time.Local
	if timeZone != nil {
		loaded, err := time.LoadLocation(*timeZone)
		if err != nil {
			return nil, &Problem{UnknownTimeZone, fmt.Sprintf("invalid timeZone: %q: %s", *timeZone, err)}
		}
		zone = loaded
	}
	if len(schedule) > MaxSchedule {
		return nil, &Problem{UnparseableSchedule, fmt.Sprintf("unparseable schedule: it has more than %d bytes", MaxSchedule)}
	}
	parsed, err := parseStandard(schedule)
	if err != nil {
		return nil, &Problem{UnparseableSchedule, fmt.Sprintf("unparseable schedule: %q : %s", schedule, err)}
	}
	calculator := &Calculator{schedule: parsed, written: schedule}
	if spec, ok := parsed.(*cron.SpecSchedule); ok {
		if spec.Location == time.Local {
			spec.Location = zone
		}
		if nextWall(spec, time.UTC, dawn).IsZero() {
			return nil, calculator.neverFires()
		}
	}
	return calculator, nil
}

// neverFires returns the Problem of a schedule that names no time that ever comes, with what is to be changed.
func (c *Calculator) neverFires() *Problem {
	change := "the months that it names do not have the days that it names: change the day of month or the month"
	if spec, ok := c.schedule.(*cron.SpecSchedule); ok {
		for _, field := range []struct {
			name string
			bits uint64
		}{{"minute", spec.Minute}, {"hour", spec.Hour}, {"month", spec.Month}, {"day of month", spec.Dom}, {"day of week", spec.Dow}} {
			if field.bits == 0 {
				change = fmt.Sprintf("its field %s names nothing: write * or a number there", field.name)
				break
			}
		}
	}
	return &Problem{NeverFires, fmt.Sprintf("schedule %q never fires: %s", c.written, change)}
}

// setsZone reports whether a schedule is taken to set a zone itself; upstream looks for the letters anywhere.
func setsZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

// parseStandard is cron.ParseStandard, which panics on some inputs ("TZ=UTC").
func parseStandard(schedule string) (parsed cron.Schedule, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			parsed, err = nil, fmt.Errorf("invalid schedule format: %v", cause)
		}
	}()
	return cron.ParseStandard(schedule)
}

// timeline is a Calculator with the point that "@every" counts from.
type timeline struct {
	*Calculator
	// base is the last scheduled run, or the CronJob's creation.
	base time.Time
	// ran is set when base is a run, whose minute has its Job already.
	ran bool
	// came are the times up to since, ascending; the schedule names those after it.
	came  []time.Time
	since time.Time
}

// Next returns the first time after t that the schedule names; zero when there is none. "@every" counts from t.
func (c *Calculator) Next(t time.Time) time.Time {
	return timeline{Calculator: c, base: t}.next(t)
}

// next returns the first scheduled time after t; zero when there is none.
func (l timeline) next(t time.Time) time.Time {
	if t.Before(l.since) {
		if _, came := split(l.came, t); len(came) > 0 {
			return came[0]
		}
		t = l.since
	}
	if every, ok := l.schedule.(cron.ConstantDelaySchedule); ok {
		return l.nextEvery(t, every.Delay)
	}
	spec, ok := l.schedule.(*cron.SpecSchedule)
	if !ok {
		return time.Time{}
	}
	return nextWall(spec, spec.Location, t).UTC()
}

// nextEvery computes "@every" on the grid base + n x delay, whatever the gap. Jobs are named by the minute: of several
// grid points in a minute only the first counts.
func (l timeline) nextEvery(t time.Time, delay time.Duration) time.Time {
	base := l.base.Truncate(time.Second).UTC()
	if t.Before(base) {
		t = base
	}
	if delay >= time.Minute {
		return gridAfter(base, t, delay)
	}
	minute := t.UTC().Truncate(time.Minute)
	if l.ran && minute.Equal(base.Truncate(time.Minute)) {
		minute = minute.Add(time.Minute)
	}
	for {
		first := gridAfter(base, later(base, minute.Add(-time.Nanosecond)), delay)
		if first.After(t) && !first.Before(minute) && first.Before(minute.Add(time.Minute)) {
			return first
		}
		minute = minute.Add(time.Minute)
	}
}

// gridAfter returns the first base + n x delay, n > 0, that is after t.
func gridAfter(base, t time.Time, delay time.Duration) time.Time {
	seconds := int64(delay / time.Second)
	steps := (t.Unix()-base.Unix())/seconds + 1
	return time.Unix(base.Unix()+max(steps, 1)*seconds, 0).UTC()
}

// names reports whether the time is one of the timeline's.
func (l timeline) names(at time.Time) bool { return l.next(at.Add(-time.Second)).Equal(at) }

// more reports whether there are more than limit times in (after, until].
func (l timeline) more(after, until time.Time, limit int) bool {
	next := after
	for range limit + 1 {
		if next = l.next(next); next.IsZero() || next.After(until) {
			return false
		}
	}
	return true
}

// recent returns the last times in (after, until], ascending, and no more than limit.
func (l timeline) recent(after, until time.Time, limit int) []time.Time {
	if l.more(after, until, limit) {
		after = firstSecond(after, until, func(at time.Time) bool { return !l.more(at, until, limit) })
	}
	var times []time.Time
	for next := l.next(after); !next.IsZero() && !next.After(until); next = l.next(next) {
		times = append(times, next)
	}
	return times
}

// both returns the times in (after, until] that another timeline names too, among the last walkLimit times of each.
func (l timeline) both(other timeline, after, until time.Time) []time.Time {
	many := func(after time.Time) bool {
		return l.more(after, until, walkLimit) && other.more(after, until, walkLimit)
	}
	if many(after) {
		after = firstSecond(after, until, func(at time.Time) bool { return !many(at) })
	}
	var times []time.Time
	for at := l.next(after); !at.IsZero() && !at.After(until); {
		switch also := other.next(at.Add(-time.Second)); {
		case also.IsZero():
			return times
		case also.Equal(at):
			times = append(times, at)
			at = l.next(at)
		default:
			at = l.next(also.Add(-time.Second))
		}
	}
	return times
}

// firstSecond returns the first second in (after, until] from which on a condition holds, or until, by bisection.
func firstSecond(after, until time.Time, holds func(time.Time) bool) time.Time {
	first := after.Unix() + 1
	steps := sort.Search(int(max(until.Unix()-first, 0)), func(i int) bool { return holds(time.Unix(first+int64(i), 0)) })
	return time.Unix(first+int64(steps), 0)
}

// missed sums up the times in (after, now]; those apart by themselves.
func (l timeline) missed(after, now time.Time, apart []time.Time) []MissedRuns {
	var missed []MissedRuns
	for _, single := range apart {
		if !single.After(after) || single.After(now) {
			continue
		}
		until := single.Add(-time.Second)
		missed = append(missed, l.stretch(after, until)...)
		if l.next(until).Equal(single) {
			missed = append(missed, MissedRuns{First: single, Last: single, Count: 1})
		}
		after = single
	}
	return append(missed, l.stretch(after, now)...)
}

// stretch sums up the times in (after, until].
func (l timeline) stretch(after, until time.Time) []MissedRuns {
	var m MissedRuns
	var before time.Time
	for scheduled := l.next(after); !scheduled.IsZero() && !scheduled.After(until) && m.Count < walkLimit; scheduled = l.next(scheduled) {
		if m.Count++; m.Count == 1 {
			m.First = scheduled
		}
		before, m.Last = m.Last, scheduled
	}
	if m.Count == 0 {
		return nil
	}
	if rest := l.recent(m.Last, until, 1); m.Count == walkLimit && len(rest) > 0 {
		step := max(int64(m.Last.Sub(before)/time.Second), 1)
		m.Count += (rest[0].Unix() - m.Last.Unix()) / step
		m.Last, m.Estimated = rest[0], true
	}
	return []MissedRuns{m}
}
