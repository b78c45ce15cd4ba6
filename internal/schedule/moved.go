package schedule

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

// maxNotedTime bounds the text of a time in an annotation, in bytes. Every time that can be read is shorter.
const maxNotedTime = 64

// LastScheduleTime returns the scheduled time of the last run of a CronJob: status.lastScheduleTime or, as long as no workflow
// has written a status, the time that a move noted in an annotation. Whoever may write the object may note any time: one that
// can't be read, has not come, or is before any CronJob counts as none. A time long ago brings no flood, since what has come
// after it is caught up by the same rules as after a lastScheduleTime.
func LastScheduleTime(object *ostinatov1.CronJob, now time.Time) *metav1.Time {
	status := object.Status
	if status.LastScheduleTime != nil || status.AccountedUntil != nil || status.ObservedGeneration != 0 || status.Workflow != nil {
		return status.LastScheduleTime
	}
	noted := object.Annotations[names.LastScheduleTimeAnnotation]
	if noted == "" || len(noted) > maxNotedTime {
		return nil
	}
	at, err := time.Parse(time.RFC3339, noted)
	if at = at.UTC().Truncate(time.Second); err != nil || at.After(now) || at.Before(times.Dawn) {
		return nil
	}
	return ledger.Timestamp(at)
}
