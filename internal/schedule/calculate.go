package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// timeline is a Calculator with the point that "@every" counts from.
type timeline struct {
	schedule cron.Schedule
	zone     *time.Location
	// base is the last scheduled run, or the CronJob's creation.
	base time.Time
	// ran is set when base is a run, whose minute has its Job already.
	ran bool
	// came are the times up to since, ascending; the schedule names those after it.
	came  []time.Time
	since time.Time
}

// Next returns the first time after t that the schedule names; zero when there is
// none. "@every" counts from t.
func (c *Calculator) Next(t time.Time) time.Time {
	return timeline{schedule: c.schedule, zone: c.zone, base: t}.next(t)
}

// next returns the first scheduled time after t; zero when there is none.
func (l timeline) next(t time.Time) time.Time {
	if t.Before(l.since) {
		for _, came := range l.came {
			if came.After(t) {
				return came
			}
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
	zone := spec.Location
	if zone == time.Local {
		zone = l.zone
	}
	return nextWall(spec, zone, t).UTC()
}

// nextEvery computes "@every" on the grid base + n x delay, so that a long gap
// costs nothing and a deadline never moves the grid. Jobs are named by the
// minute, so of several grid points in one minute only the first counts.
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

// latest returns the last scheduled time in (after, now], given that first, the
// next after it, is not later than now. It bisects, since next is monotonic, and
// so takes about thirty steps for any distance.
func (l timeline) latest(after, now time.Time) time.Time {
	due := func(seconds int64) bool {
		scheduled := l.next(time.Unix(seconds, 0))
		return !scheduled.IsZero() && !scheduled.After(now)
	}
	low, high := after.Unix(), now.Unix()
	for high-low > 1 {
		if middle := low + (high-low)/2; due(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return l.next(time.Unix(low, 0))
}
