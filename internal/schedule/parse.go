package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // A zone that one worker knows must be known to all.

	"github.com/robfig/cron/v3"

	"ostinato.dev/ostinato/internal/event"
)

// ProblemReason says in what way a schedule can't be used. The values are
// upstream's Event reasons (parity 1.9).
type ProblemReason string

const (
	// UnparseableSchedule: the schedule does not follow the grammar (parity 1.3).
	UnparseableSchedule ProblemReason = "UnparseableSchedule"
	// UnknownTimeZone: the time zone database does not have spec.timeZone.
	UnknownTimeZone ProblemReason = "UnknownTimeZone"
	// InvalidSchedule: the schedule names no time that ever comes (30 February).
	InvalidSchedule ProblemReason = "InvalidSchedule"
)

// Problem is a user's mistake in schedule or timeZone. It is an outcome: the
// CronJob waits for an edit.
type Problem struct {
	Reason ProblemReason `json:"reason"`
	// Message is upstream's Event message.
	Message string `json:"message"`
}

func (p Problem) event() event.Event { return event.Warning(string(p.Reason), p.Message) }

// Calculator computes the scheduled times of a parsed schedule.
type Calculator struct {
	schedule cron.Schedule
	// written is the schedule as the user wrote it, for messages.
	written string
	// zone is the location that a schedule without one of its own is read in.
	zone *time.Location
}

// Parse reads a schedule and its time zone; nil means the local zone. A
// schedule that sets a zone itself (TZ=, CRON_TZ=) is used as it is, as
// upstream does (parity 1.3). The Problem is nil exactly when the Calculator can
// be used.
func Parse(schedule string, timeZone *string) (*Calculator, *Problem) {
	zone := time.Local
	if timeZone != nil {
		loaded, err := time.LoadLocation(*timeZone)
		if err != nil {
			return nil, &Problem{UnknownTimeZone, fmt.Sprintf("invalid timeZone: %q: %s", *timeZone, err)}
		}
		zone = loaded
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
		// A field without values would be searched for minute by minute.
		if spec.Minute == 0 || spec.Hour == 0 || spec.Dom == 0 || spec.Month == 0 || spec.Dow == 0 {
			return nil, calculator.invalid()
		}
	}
	return calculator, nil
}

// invalid returns the Problem of a schedule that never comes, in upstream's words.
func (c *Calculator) invalid() *Problem {
	return &Problem{InvalidSchedule, fmt.Sprintf("invalid schedule: %s : %s",
		c.written, "time difference between two schedules is less than 1 second")}
}

// setsZone reports whether a schedule is taken to set a zone itself; upstream
// looks for the letters anywhere.
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
