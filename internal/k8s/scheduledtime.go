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
	if scheduled = scheduled.UTC(); err != nil || scheduled.Year() < 1 || scheduled.Year() > 9999 {
		return time.Time{}
	}
	return scheduled
}
