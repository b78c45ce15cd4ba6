package times

import (
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// The library's parser is used, its Next is not: where the clock is not set by a whole hour (Lord Howe), or a day is
// left out (Samoa), that skips times, names times that the schedule does not, or never returns. The rule here is the
// one that it states: a time fires at every instant at which the zone's clocks show it. So one that is skipped does not
// fire, and one that comes twice fires twice.

// horizon is how far ahead a time is looked for: 29 February is 8 years away around 2100, and may fall into a gap.
const horizon = 13 * 366 * 24 * time.Hour

// lastYear is the last that JSON can carry.
const lastYear = 9999

// starBit is the library's mark of a field that has a star in it.
const starBit = 1 << 63

// nextWall returns the first instant after t at which the zone's clocks show a time of the schedule, or zero.
func nextWall(schedule *cron.SpecSchedule, zone *time.Location, t time.Time) time.Time {
	at := t.Truncate(time.Second).Add(time.Second).In(zone)
	limit := at.Add(horizon)
	for at.Before(limit) {
		_, offset := at.Zone()
		change := changeAfter(at, limit)
		shift := time.Duration(offset) * time.Second
		shown := nextShown(schedule, at.UTC().Add(shift), change.UTC().Add(shift))
		if !shown.IsZero() {
			if found := shown.Add(-shift); found.Year() <= lastYear {
				return found
			}
			return time.Time{}
		}
		at = change.In(zone)
	}
	return time.Time{}
}

// changeAfter returns how long the clocks surely are not set again; limit at most.
func changeAfter(at, limit time.Time) time.Time {
	_, change := at.ZoneBounds()
	if change.IsZero() || change.After(limit) {
		return limit
	}
	if !change.After(at) {
		// Go ends a leap year a day early, and this is its last day.
		return at.Truncate(time.Minute).Add(time.Minute)
	}
	return change
}

// nextShown returns the first time of the schedule in [from, until) of a clock that is never set, or zero.
func nextShown(schedule *cron.SpecSchedule, from, until time.Time) time.Time {
	first := from.Add(time.Minute - time.Second).Truncate(time.Minute)
	day, minute := first.Truncate(24*time.Hour), first.Hour()*60+first.Minute()
	for day.Before(until) {
		switch {
		case schedule.Month>>day.Month()&1 == 0:
			day, minute = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC), 0
			continue
		case namesDay(schedule, day):
			if found := nextMinute(schedule, minute); found >= 0 {
				if shown := day.Add(time.Duration(found) * time.Minute); shown.Before(until) {
					return shown
				}
				return time.Time{}
			}
		}
		day, minute = day.AddDate(0, 0, 1), 0
	}
	return time.Time{}
}

// nextMinute returns the first minute of a day, from the given one on, that the schedule names; -1 when there is none.
func nextMinute(schedule *cron.SpecSchedule, from int) int {
	least := from % 60
	for hour := from / 60; hour < 24; hour++ {
		if schedule.Hour>>hour&1 != 0 {
			if rest := schedule.Minute &^ starBit >> least; rest != 0 {
				return hour*60 + least + bits.TrailingZeros64(rest)
			}
		}
		least = 0
	}
	return -1
}

// namesDay reports whether the schedule names the day (parity 1.3): by both fields if one has a star, else by either.
func namesDay(schedule *cron.SpecSchedule, day time.Time) bool {
	ofMonth, ofWeek := schedule.Dom>>day.Day()&1 != 0, schedule.Dow>>day.Weekday()&1 != 0
	if (schedule.Dom|schedule.Dow)&starBit != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}
