package moving

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

// Side is what counts of one of the two objects of a move.
type Side struct {
	UID     string
	Created time.Time
	// Suspended is spec.suspend. HeldAt is when a move has suspended the object; zero where that was no move.
	Suspended bool
	HeldAt    time.Time
	// From is the UID of the object that a move has made this one from; empty where none has.
	From string
	// Last is the scheduled time of the last run, and Settled the time up to which every time has an outcome, where that is
	// known, as is the Next that is due; else they are zero.
	Last, Settled, Next time.Time
	// Active are the Jobs of the object that have not ended.
	Active []string
	// Seen is set once the controller of the object has seen it as it is.
	Seen     bool
	Deleting bool

	schedule string
	zone     *string
	policy   batchv1.ConcurrencyPolicy
}

// held reports whether a move keeps the object suspended.
func (s *Side) held() bool { return s != nil && s.Suspended && !s.HeldAt.IsZero() }

// Native is the side of a CronJob of batch/v1; nil for none. The Jobs may be others' too.
func Native(cronJob *batchv1.CronJob, jobs []batchv1.Job) *Side {
	if cronJob == nil {
		return nil
	}
	side := sideOf(&cronJob.ObjectMeta, ostinatov1.GroupVersion.String(), jobs)
	side.Suspended = ptr.Deref(cronJob.Spec.Suspend, false)
	side.Last = times.Later(side.Last, ledger.Time(cronJob.Status.LastScheduleTime))
	side.Seen = true
	side.schedule, side.zone, side.policy = cronJob.Spec.Schedule, cronJob.Spec.TimeZone, cronJob.Spec.ConcurrencyPolicy
	return side
}

// Ours is the side of a CronJob of batch.ostinato.dev; nil for none.
func Ours(cronJob *ostinatov1.CronJob, jobs []batchv1.Job) *Side {
	if cronJob == nil {
		return nil
	}
	side := sideOf(&cronJob.ObjectMeta, batchv1.SchemeGroupVersion.String(), jobs)
	side.Suspended = ptr.Deref(cronJob.Spec.Suspend, false)
	side.Last = times.Later(side.Last, ledger.Time(schedule.LastScheduleTime(cronJob, cronJob.CreationTimestamp.Time)))
	side.Settled, side.Next = ledger.Time(cronJob.Status.AccountedUntil), ledger.Time(cronJob.Status.NextScheduleTime)
	side.Seen = cronJob.Status.ObservedGeneration >= cronJob.Generation
	side.schedule, side.zone, side.policy = cronJob.Spec.Schedule, cronJob.Spec.TimeZone, cronJob.Spec.ConcurrencyPolicy
	return side
}

// sideOf reads what the two kinds have in common. from is the API version of the other kind.
func sideOf(meta *metav1.ObjectMeta, from string, jobs []batchv1.Job) *Side {
	side := &Side{UID: string(meta.UID), Created: meta.CreationTimestamp.UTC(), Deleting: meta.DeletionTimestamp != nil}
	if version, uid, ok := cutLast(meta.Annotations[names.MovedFromAnnotation], "/"); ok && version == from {
		side.From = uid
	}
	if at, err := time.Parse(time.RFC3339Nano, meta.Annotations[names.SuspendedForMoveAnnotation]); err == nil {
		side.HeldAt = at.UTC()
	}
	for n := range jobs {
		if !metav1.IsControlledBy(&jobs[n], meta) {
			continue
		}
		if !ended(&jobs[n]) {
			side.Active = append(side.Active, jobs[n].Name)
		}
		if scheduled := k8s.ScheduledTime(&jobs[n]); jobs[n].Name == names.ScheduledJob(meta.Name, scheduled) {
			side.Last = times.Later(side.Last, scheduled)
		}
	}
	return side
}

func cutLast(text, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(text, separator); at >= 0 {
		return text[:at], text[at+len(separator):], true
	}
	return text, "", false
}

func ended(job *batchv1.Job) bool {
	for _, condition := range job.Status.Conditions {
		if condition.Status == "True" && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			return true
		}
	}
	return false
}
