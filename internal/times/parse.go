package times

import (
	"fmt"
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
		if nextWall(spec, time.UTC, Dawn).IsZero() {
			return nil, calculator.NoTimes()
		}
	}
	return calculator, nil
}

// NoTimes returns the Problem of a schedule that names no time that ever comes, with what is to be changed.
func (c *Calculator) NoTimes() *Problem {
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

// parseStandard is cron.ParseStandard, which panics on some inputs ("TZ=UTC").
func parseStandard(schedule string) (parsed cron.Schedule, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			parsed, err = nil, fmt.Errorf("invalid schedule format: %v", cause)
		}
	}()
	return cron.ParseStandard(schedule)
}

// Next returns the first time after t that the schedule names; zero when there is none. "@every" counts from t.
func (c *Calculator) Next(t time.Time) time.Time { return c.Line(t, false).Next(t) }

// Prescribes reports whether the schedule names the time. Any may be one of "@every", whose base is unknown.
func (c *Calculator) Prescribes(at time.Time) bool {
	_, constant := c.schedule.(cron.ConstantDelaySchedule)
	return !at.Before(Dawn) && (constant || c.Line(at, false).Names(at))
}
