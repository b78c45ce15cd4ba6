package times

import (
	"sort"
	"time"

	"github.com/robfig/cron/v3"
)

// walkLimit bounds the scheduled times that are counted one by one.
const walkLimit = 1000

// Line is the sequence of times that a schedule names, with the point that "@every" counts from.
type Line struct {
	schedule cron.Schedule
	// base is the last scheduled run, or the CronJob's creation.
	base time.Time
	// ran is set when base is a run, whose minute has its Job already.
	ran bool
	// came are the times up to since, ascending; the schedule names those after it.
	came  []time.Time
	since time.Time
}

// Stretch is a number of consecutive scheduled times.
type Stretch struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Count int64     `json:"count"`
	// Estimated is set when there were too many to count one by one.
	Estimated bool `json:"estimated,omitempty"`
}

// Line returns the schedule's times as they count from a base; ran says that this is a run.
func (c *Calculator) Line(base time.Time, ran bool) Line {
	return Line{schedule: c.schedule, base: base, ran: ran}
}

// Following returns the line with these times, ascending, in place of its own up to since.
func (l Line) Following(came []time.Time, since time.Time) Line {
	l.came, l.since = came, since
	return l
}

// Next returns the first scheduled time after t; zero when there is none.
func (l Line) Next(t time.Time) time.Time {
	if t.Before(l.since) {
		if _, came := Split(l.came, t); len(came) > 0 {
			return came[0]
		}
		t = l.since
	}
	switch schedule := l.schedule.(type) {
	case cron.ConstantDelaySchedule:
		return l.nextEvery(t, schedule.Delay)
	case *cron.SpecSchedule:
		return nextWall(schedule, schedule.Location, t).UTC()
	}
	return time.Time{}
}

// nextEvery computes "@every" on the grid base + n x delay, whatever the gap. Jobs are named by the minute: of several
// grid points in a minute only the first counts.
func (l Line) nextEvery(t time.Time, delay time.Duration) time.Time {
	base := l.base.Truncate(time.Second).UTC()
	t = Later(base, t)
	if delay >= time.Minute {
		return gridAfter(base, t, delay)
	}
	minute := t.UTC().Truncate(time.Minute)
	if l.ran && minute.Equal(base.Truncate(time.Minute)) {
		minute = minute.Add(time.Minute)
	}
	for {
		first := gridAfter(base, Later(base, minute.Add(-time.Nanosecond)), delay)
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

// Names reports whether the time is one of the line's.
func (l Line) Names(at time.Time) bool { return l.Next(at.Add(-time.Second)).Equal(at) }

// More reports whether there are more than limit times in (after, until].
func (l Line) More(after, until time.Time, limit int) bool {
	next := after
	for range limit + 1 {
		if next = l.Next(next); next.IsZero() || next.After(until) {
			return false
		}
	}
	return true
}

// Recent returns the last times in (after, until], ascending, and no more than limit.
func (l Line) Recent(after, until time.Time, limit int) []time.Time {
	if l.More(after, until, limit) {
		after = firstSecond(after, until, func(at time.Time) bool { return !l.More(at, until, limit) })
	}
	var found []time.Time
	for next := l.Next(after); !next.IsZero() && !next.After(until); next = l.Next(next) {
		found = append(found, next)
	}
	return found
}

// Both returns the times in (after, until] that another line names too, among the last walkLimit times of each.
func (l Line) Both(other Line, after, until time.Time) []time.Time {
	many := func(after time.Time) bool {
		return l.More(after, until, walkLimit) && other.More(after, until, walkLimit)
	}
	if many(after) {
		after = firstSecond(after, until, func(at time.Time) bool { return !many(at) })
	}
	var found []time.Time
	for at := l.Next(after); !at.IsZero() && !at.After(until); {
		switch also := other.Next(at.Add(-time.Second)); {
		case also.IsZero():
			return found
		case also.Equal(at):
			found = append(found, at)
			at = l.Next(at)
		default:
			at = l.Next(also.Add(-time.Second))
		}
	}
	return found
}

// firstSecond returns the first second in (after, until] from which on a condition holds, or until, by bisection.
func firstSecond(after, until time.Time, holds func(time.Time) bool) time.Time {
	first := after.Unix() + 1
	steps := sort.Search(int(max(until.Unix()-first, 0)), func(i int) bool { return holds(time.Unix(first+int64(i), 0)) })
	return time.Unix(first+int64(steps), 0)
}

// Stretches sums up the times in (after, now]; those apart by themselves.
func (l Line) Stretches(after, now time.Time, apart []time.Time) []Stretch {
	var stretches []Stretch
	for _, single := range apart {
		if !single.After(after) || single.After(now) {
			continue
		}
		until := single.Add(-time.Second)
		stretches = append(stretches, l.stretch(after, until)...)
		if l.Next(until).Equal(single) {
			stretches = append(stretches, Stretch{First: single, Last: single, Count: 1})
		}
		after = single
	}
	return append(stretches, l.stretch(after, now)...)
}

// stretch sums up the times in (after, until].
func (l Line) stretch(after, until time.Time) []Stretch {
	var s Stretch
	var before time.Time
	for scheduled := l.Next(after); !scheduled.IsZero() && !scheduled.After(until) && s.Count < walkLimit; scheduled = l.Next(scheduled) {
		if s.Count++; s.Count == 1 {
			s.First = scheduled
		}
		before, s.Last = s.Last, scheduled
	}
	if s.Count == 0 {
		return nil
	}
	if rest := l.Recent(s.Last, until, 1); s.Count == walkLimit && len(rest) > 0 {
		step := max(int64(s.Last.Sub(before)/time.Second), 1)
		s.Count += (rest[0].Unix() - s.Last.Unix()) / step
		s.Last, s.Estimated = rest[0], true
	}
	return []Stretch{s}
}

// Between returns the times in [from, to], and no more than limit; ok is false if there are more. "@every" counts as it
// does now, also before the line's base.
func (l Line) Between(from, to time.Time, limit int) (between []time.Time, ok bool) {
	if every, constant := l.schedule.(cron.ConstantDelaySchedule); constant {
		l.base = gridBefore(l.base, from, every.Delay)
	}
	for at := l.Next(from.Add(-time.Nanosecond)); !at.IsZero() && !at.After(to); at = l.Next(at) {
		if len(between) == limit {
			return between, false
		}
		between = append(between, at)
	}
	return between, true
}

// gridBefore returns a point of the grid base + n x delay more than a minute before the time, or base if that is.
func gridBefore(base, at time.Time, delay time.Duration) time.Time {
	seconds := int64(delay / time.Second)
	steps := (base.Unix() - at.Unix() + 60 + seconds) / seconds
	return time.Unix(base.Unix()-max(steps, 0)*seconds, 0).UTC()
}

// Dawn is before any CronJob. Earlier times are not looked at: a creationTimestamp of 1970 is none.
var Dawn = time.Date(2015, time.January, 1, 0, 0, 0, 0, time.UTC)

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b.UTC()
	}
	return a
}

// Split divides ascending times into those up to a time and those after it.
func Split(ascending []time.Time, at time.Time) (until, after []time.Time) {
	index := sort.Search(len(ascending), func(i int) bool { return ascending[i].After(at) })
	return ascending[:index:index], ascending[index:]
}

// Format writes a time for people.
func Format(t time.Time) string { return t.UTC().Format(time.RFC3339) }
