package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // A zone that one worker knows must be known to all.

	"github.com/robfig/cron/v3"

	"ostinato.dev/ostinato/internal/event"
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
	// zone is the location that a schedule without one of its own is read in.
	zone *time.Location
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
	calculator := &Calculator{schedule: parsed, written: schedule, zone: zone}
	if spec, ok := parsed.(*cron.SpecSchedule); ok {
		if !setsZone(schedule) {
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

// unsupportedZone is the warning about such a schedule.
func unsupportedZone(schedule string) event.Event {
	return event.Warning("UnsupportedSchedule", fmt.Sprintf(
		"CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
		schedule))
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
