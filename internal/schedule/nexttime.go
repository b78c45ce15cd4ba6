package schedule

import (
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// NextDisagrees reports whether status.nextScheduleTime of a CronJob says that its next run is
// later than its schedule does, or names none. That of a past time is the run that is due. The
// times of a CronJob that is suspended, being deleted or not schedulable are not judged.
func NextDisagrees(cronJob *ostinatov1.CronJob, now time.Time) bool {
	spec := SpecOf(cronJob)
	if spec.Suspend || spec.Deleting {
		return false
	}
	calculator, problem := Parse(spec.Schedule, spec.TimeZone)
	if problem != nil {
		return false
	}
	next := cronJob.Status.NextScheduleTime
	// Two clocks may differ, and the time that was next a moment ago may have been taken since.
	return next == nil || next.After(calculator.Next(calculator.Next(now.Add(clockSkew))))
}
