package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// closedGrace is how long a CronJob's workflow has to learn by itself that a run ended. If it
	// has continued as new since it started the run, it does not.
	closedGrace = 10 * time.Second
	// closedRepeat is the time between two such messages for one run.
	closedRepeat = time.Minute
)

// closing is a run that ended and that its CronJob's status still lists.
type closing struct {
	name, uid string
	outcome   job.Outcome
	// grace is how long after since the message is due, as a reminder. It is zero for a Job of
	// another controller: nobody else tells the workflow of its end.
	grace time.Duration
	// since is when this was first seen, sentAt when the message was last sent.
	since  time.Time
	sentAt time.Time
}

func (c closing) wait(now time.Time) time.Duration {
	return max(c.grace-now.Sub(c.since), closedRepeat-now.Sub(c.sentAt), 0)
}

// closingsOf returns the runs that status lists as active and that have ended: the Job has
// finished, or there is none of that UID. find returns the Job of a name, or nil.
func closingsOf(owner ownership, active []corev1.ObjectReference, before []closing, find func(name string) *batchv1.Job, now time.Time) []closing {
	var closings []closing
	for _, run := range active {
		found := find(run.Name)
		if found != nil && found.UID == run.UID && !finished(found) {
			continue
		}
		next := closing{name: run.Name, uid: string(run.UID), outcome: job.Deleted, grace: closedGrace, since: now}
		if found != nil {
			next.grace = closedGraceOf(owner, found)
			if found.UID == run.UID {
				next.outcome = job.Outcome(claim.Finished(found).Type)
			}
		}
		for _, known := range before {
			if known.uid == next.uid {
				next.since, next.sentAt = known.since, known.sentAt
			}
		}
		closings = append(closings, next)
	}
	return closings
}

func closedGraceOf(owner ownership, found *batchv1.Job) time.Duration {
	if owner.ours(found) {
		return closedGrace
	}
	return 0
}

const (
	// unlistedGrace is how long a CronJob's workflow has to write the status that lists a run
	// it has started: in a herd after the Pods of all runs.
	unlistedGrace = 30 * time.Second
	// maxEndReports is how often a workflow is asked to look at a Job that has ended, which no status ever lists.
	maxEndReports = 2
)

// subject is a Job at which a CronJob's workflow is asked to look, as one under way or as one that has ended.
type subject struct {
	uid   types.UID
	ended bool
}

func subjectOf(job *batchv1.Job) subject { return subject{job.UID, finished(job)} }

// report is how often a workflow was asked to look at a Job, when it last was, and the
// resource version of the CronJob then.
type report struct {
	attempts
	version string
}

// waitAt is how long to wait with the next. While nobody has written the CronJob since the
// last, that still waits for the workflow, and another would wait beside it.
func (m report) waitAt(version string, now time.Time) time.Duration {
	wait := m.wait(now)
	if m.times > 0 && m.version == version {
		return max(wait, firstRepeat)
	}
	return wait
}

// unexpected returns the Jobs of a CronJob that its workflow may not know (parity 1.6, step 3):
// those under way that status has had time to list, and those that were made by hand, as "kubectl
// create job --from" does, and have ended. again is when the next of them is due, 0 for none.
func unexpected(cronJob *ostinatov1.CronJob, jobs []*batchv1.Job, reported map[subject]report, now time.Time) (due []*batchv1.Job, again time.Duration) {
	listed := map[types.UID]bool{}
	for _, run := range cronJob.Status.Active {
		listed[run.UID] = true
	}
	for _, job := range jobs {
		subject := subjectOf(job)
		known := reported[subject]
		if listed[job.UID] || subject.ended && (ofARun(job) || known.times >= maxEndReports) {
			continue
		}
		wait := known.waitAt(cronJob.ResourceVersion, now)
		if !subject.ended {
			// Nobody else tells the workflow about one that was made by hand, which counts beside
			// its own runs as soon as it knows.
			grace := closedGrace
			if ofARun(job) {
				grace = unlistedGrace
			}
			wait = max(wait, grace-now.Sub(job.CreationTimestamp.Time))
		}
		if wait <= 0 {
			due = append(due, job)
		} else {
			again = earliest(again, wait)
		}
	}
	return due, again
}

// reportsOf returns the reports of Jobs that still exist.
func reportsOf(jobs []*batchv1.Job, reported map[subject]report) map[subject]report {
	left := map[subject]report{}
	for _, job := range jobs {
		if known, ok := reported[subjectOf(job)]; ok {
			left[subjectOf(job)] = known
		}
	}
	return left
}

// pruned is a finished Job that was deleted.
type pruned struct {
	name      string
	uid       types.UID
	condition batchv1.JobConditionType
}

// prunedByOthers are the deleted Jobs that the workflow may still count for a history
// limit. Its own deletes leave as many Jobs as the limit allows.
func prunedByOthers(cronJob *ostinatov1.CronJob, deleted []pruned, jobs []*batchv1.Job) []pruned {
	left := map[batchv1.JobConditionType]int32{}
	for _, job := range jobs {
		if condition := claim.Finished(job); condition != nil {
			left[condition.Type]++
		}
	}
	spec := schedule.SpecOf(cronJob)
	return slices.DeleteFunc(slices.Clone(deleted), func(one pruned) bool { return left[one.condition] >= spec.HistoryLimit(one.condition) })
}
