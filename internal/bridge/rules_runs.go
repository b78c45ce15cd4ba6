package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/schedule"
)

const (
	// closedGrace is how long a workflow has to learn by itself that a run ended. One that has continued as new does not.
	closedGrace = 10 * time.Second
	// closedRepeat is the time between two such messages for one run.
	closedRepeat = time.Minute
)

// closing is a run that ended and that its CronJob's status still lists.
type closing struct {
	name, uid string
	// deleted says that there is no Job of that UID.
	deleted bool
	// grace is how long after since the message is due, as a reminder; zero for another controller's Job: nothing else
	// tells the workflow.
	grace time.Duration
	// since is when this was first seen, sentAt when the message was last sent.
	since, sentAt time.Time
}

func (c closing) wait(now time.Time) time.Duration {
	return max(c.grace-now.Sub(c.since), closedRepeat-now.Sub(c.sentAt), 0)
}

// closings returns the runs that status lists as active and that have ended: the Job has finished, or there is none of
// that UID. before are those known, find returns the Job of a name, or nil.
func (o ownership) closings(cronJob *ostinatov1.CronJob, before []closing,
	find func(types.NamespacedName) *batchv1.Job, now time.Time) []closing {
	var closings []closing
	for _, run := range cronJob.Status.Active {
		found := find(types.NamespacedName{Namespace: cronJob.Namespace, Name: run.Name})
		if found != nil && found.UID == run.UID && !finished(found) {
			continue
		}
		next := closing{name: run.Name, uid: string(run.UID), deleted: found == nil || found.UID != run.UID, grace: closedGrace, since: now}
		if found != nil {
			next.grace = closedGraceOf(o, found)
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
	// unlistedGrace is how long a workflow has to list a run it has started in the status: in a herd after all runs' Pods.
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

// reports are how often a workflow was asked to look at Jobs, with the resource version of the CronJob at the last time.
type reports map[subject]attempts[string]

// of returns the reports of these Jobs.
func (r reports) of(jobs []*batchv1.Job) reports {
	left := reports{}
	for _, job := range jobs {
		if known, ok := r[subjectOf(job)]; ok {
			left[subjectOf(job)] = known
		}
	}
	return left
}

// unexpected returns the Jobs of a CronJob that its workflow may not know (parity 1.6, step 3): those under way that
// status has had time to list, and those that were made by hand, as "kubectl create job --from" does, and have ended.
// again is when the next of them is due, 0 for none.
func unexpected(cronJob *ostinatov1.CronJob, jobs []*batchv1.Job, reported reports, now time.Time) (due []*batchv1.Job, again time.Duration) {
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
		wait := known.wait(now)
		if known.times > 0 && known.of == cronJob.ResourceVersion {
			// The CronJob was not written since: the last report still waits for the workflow, and another would wait
			// beside it.
			wait = max(wait, firstRepeat)
		}
		if !subject.ended {
			// Nothing else tells the workflow of a Job made by hand, which counts beside its own runs as soon as it
			// knows.
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

// pruned is a finished Job that was deleted.
type pruned struct {
	name      string
	uid       types.UID
	condition batchv1.JobConditionType
}

// prunedByOthers are the deleted Jobs that may still count for a history limit. The workflow's own deletes leave that many.
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
