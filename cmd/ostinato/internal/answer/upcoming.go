package answer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/times"
)

// Upcoming returns the first times, at most limit, at which a CronJob is due from one time to another, both included.
func Upcoming(cronJob *ostinatov1.CronJob, from, to time.Time, limit int) (due []time.Time) {
	calculator, problem := times.Parse(cronJob.Spec.Schedule, zoneOf(cronJob))
	if problem != nil {
		return nil
	}
	for t := first(cronJob, calculator, from); !t.IsZero() && !t.After(to) && len(due) < limit; t = calculator.Next(t) {
		due = append(due, t)
	}
	return due
}

const (
	// folded is from how many times on a CronJob that is due more often than hourly has one row.
	folded = 4
	// maxCounted bounds the times of a CronJob that are counted.
	maxCounted = 100_000
)

// Ahead returns what is due from one time to another, both included, in order. What is due more often than hourly has one row, so that
// it does not hide what is rare.
func Ahead(cronJobs []ostinatov1.CronJob, from, to time.Time) (due []Due) {
	for n := range cronJobs {
		one := Due{Namespace: cronJobs[n].Namespace, Name: cronJobs[n].Name, Note: Doubt(&cronJobs[n])}
		all := Upcoming(&cronJobs[n], from, to, maxCounted)
		if often(all) {
			one.At, one.Until, one.Times = all[0], &all[len(all)-1], len(all)
			due = append(due, one)
			continue
		}
		for _, one.At = range all {
			due = append(due, one)
		}
	}
	slices.SortStableFunc(due, func(a, b Due) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return due
}

// often reports whether times come more often than hourly.
func often(all []time.Time) bool {
	return len(all) >= folded && all[len(all)-1].Sub(all[0]) < time.Duration(len(all)-1)*time.Hour
}

// first is the next time of a CronJob as its status knows it, since @every counts from the last run and the zone may be the
// worker's; where that says nothing, the schedule's.
func first(cronJob *ostinatov1.CronJob, calculator *times.Calculator, from time.Time) time.Time {
	if next := timeOf(cronJob.Status.NextScheduleTime); !next.Before(from) {
		return next
	}
	return calculator.Next(from.Add(-time.Second))
}

// Doubt says why the next times of a CronJob may not run; empty if nothing keeps them.
func Doubt(cronJob *ostinatov1.CronJob) string {
	stalled := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionStalled)
	switch {
	case ptr.Deref(cronJob.Spec.Suspend, false):
		return "suspended"
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return "stalled: " + stalled.Reason
	}
	return ""
}

// Last is the last time of a CronJob that has come; known is false where none has.
func Last(cronJob *ostinatov1.CronJob, now time.Time) (at time.Time, known bool) {
	for _, row := range cronJob.Status.RecentRuns {
		if row.Manual {
			continue
		}
		last := row.ScheduledTime.Time
		if row.Until != nil {
			last = row.Until.Time
		}
		if last.After(at) {
			at, known = last, true
		}
	}
	calculator, problem := times.Parse(cronJob.Spec.Schedule, zoneOf(cronJob))
	if problem != nil || known && timeOf(cronJob.Status.NextScheduleTime).After(now) {
		return at, known
	}
	// A time that has come since the status was written counts too.
	for t := calculator.Next(later(at, cronJob.CreationTimestamp.Time)); !t.IsZero() && !t.After(now); t = calculator.Next(t) {
		at, known = t, true
	}
	return at, known
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// presently says of a run that is stuck what keeps it.
func presently(clock Clock, cronJob *ostinatov1.CronJob) string {
	run, ok := stuck(cronJob)
	if !ok {
		return ""
	}
	return " At present " + stuckFor(clock, run) + "."
}

// Nothing is the answer where no time has come yet.
func Nothing(clock Clock, cronJob *ostinatov1.CronJob) Verdict {
	return Verdict{Namespace: cronJob.Namespace, CronJob: cronJob.Name, Text: Printable(fmt.Sprintf(
		"No time of the CronJob has come since it was created at %s. %s", clock.Time(cronJob.CreationTimestamp.Time), outlook(clock, cronJob)) + presently(clock, cronJob))}
}
