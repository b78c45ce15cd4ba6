package schedule

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

// clockSkew is how far ahead of this process's clock the one may be by which a run came due.
const clockSkew = time.Minute

// Prescribed judges a start, which may be forged, against the CronJob as the API server has it. It returns why the
// CronJob prescribes no such run; empty if it does, as far as the object tells.
func Prescribed(object *ostinatov1.CronJob, start Start, now time.Time) string {
	spec := SpecOf(object)
	want, of := names.ScheduledJob(object.Name, start.Scheduled), "the run of "+times.Format(start.Scheduled)
	switch {
	case start.Backfill != 0:
		want = names.BackfilledJob(object.Name, string(object.UID), start.Backfill, start.Scheduled)
		of = fmt.Sprintf("%s in backfill %d", times.Format(start.Scheduled), start.Backfill)
	case start.Manual:
		want, of = names.TriggeredJob(object.Name, string(object.UID), start.Sequence), fmt.Sprintf("trigger %d", start.Sequence)
	}
	calculator, problem := times.Parse(spec.Schedule, spec.TimeZone)
	switch {
	case spec.Deleting:
		return "the CronJob is being deleted"
	case start.Scheduled.After(now.Add(clockSkew)):
		return "the time of the run has not come"
	case start.Overlap != "" && (!start.Manual || OverlapMistake(start.Overlap) != ""):
		return fmt.Sprintf("no run may ask for overlap %.40q", string(start.Overlap))
	case start.Backfill != 0 && !start.Manual:
		return "a backfilled run is a manual one"
	case !start.Manual && spec.Suspend:
		return "the CronJob is suspended"
	case !start.Manual && start.Scheduled.Before(countedFrom(object, now)):
		return "the CronJob's times count from " + times.Format(countedFrom(object, now))
	case !start.Manual && hasRun(object, start, now):
		return "the run of this time or of a later one has started"
	case (!start.Manual || start.Backfill != 0) && (problem != nil || !calculator.Prescribes(start.Scheduled)):
		return times.Format(start.Scheduled) + " is no time of the schedule"
	case start.Name != want:
		return fmt.Sprintf("Job %.70q has not the name of %s, %s", start.Name, of, want)
	}
	return ""
}

// hasRun reports whether the run of a scheduled time has started by the status, or one of a later time. Where runs wait in
// order, a Job of a later time may have been made by hand, and the status says which times have no outcome yet.
func hasRun(object *ostinatov1.CronJob, start Start, now time.Time) bool {
	last, accounted := LastScheduleTime(object, now), object.Status.AccountedUntil
	waits := SpecOf(object).inOrder() && accounted != nil && start.Scheduled.After(accounted.Time)
	return last != nil && !start.Scheduled.After(last.Time) && !waits
}

// countedFrom returns the time before which a CronJob has no scheduled runs: that of its creation, or an earlier one that a
// move has noted, or that of the last run, which a CronJob that was restored with its status had before its creation.
func countedFrom(object *ostinatov1.CronJob, now time.Time) time.Time {
	from := object.CreationTimestamp.UTC()
	for _, last := range []*metav1.Time{notedScheduleTime(object, now), object.Status.LastScheduleTime} {
		if last != nil && last.Time.Before(from) {
			from = last.UTC()
		}
	}
	return from
}

// NextDisagrees reports whether status.nextScheduleTime is later than the schedule's next time, or missing. A past time
// is that of the due run. CronJobs that are suspended, being deleted or unschedulable are not judged.
func NextDisagrees(cronJob *ostinatov1.CronJob, now time.Time) bool {
	spec := SpecOf(cronJob)
	calculator, problem := times.Parse(spec.Schedule, spec.TimeZone)
	if problem != nil || spec.Suspend || spec.Deleting {
		return false
	}
	next := cronJob.Status.NextScheduleTime
	// Two clocks may differ, and the time that was next a moment ago may have been taken since.
	return next == nil || next.After(calculator.Next(calculator.Next(now.Add(clockSkew))))
}
