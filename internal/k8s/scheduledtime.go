package k8s

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/names"
)

// ScheduledTime is the scheduled time that a Job says; zero where it says none, or one
// that JSON can't carry in UTC. Whoever may write the Job may have written it.
func ScheduledTime(job *batchv1.Job) time.Time {
	scheduled, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
	if err != nil {
		return time.Time{}
	}
	return inUTC(scheduled)
}

// inUTC returns the time in UTC; zero for one that JSON can't carry there: the last hours of the
// year 9999 somewhere are in the year 10000.
func inUTC(at time.Time) time.Time {
	if at = at.UTC(); at.Year() < 1 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}
