package bridge

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
)

const (
	// closedGrace is how long a CronJob's workflow has to hear by itself of a run that
	// ended. Then the bridge tells it: the run's workflow may have been started before
	// continue-as-new, and what waits for the end waits for the bridge.
	closedGrace = 10 * time.Second
	// closedRepeat is the time between two such messages for one run.
	closedRepeat = time.Minute
)

// closing is a run that ended and that its CronJob's status still lists.
type closing struct {
	name, uid string
	result    job.Result
	// grace is how long after since the message is due, which is a reminder: none for a
	// Job of another controller, of whose end nobody else tells the workflow.
	grace time.Duration
	// since is when this was first seen, sentAt when the message was last sent.
	since  time.Time
	sentAt time.Time
}

// due reports whether the run's end is to be sent now, or else in how long.
func (c closing) due(now time.Time) (bool, time.Duration) {
	wait := c.grace - now.Sub(c.since)
	if !c.sentAt.IsZero() {
		wait = max(wait, closedRepeat-now.Sub(c.sentAt))
	}
	return wait <= 0, max(wait, 0)
}

// closingsOf returns the runs that status lists as active and that have ended:
// the Job has finished, or there is none of that UID. What is known of them from
// before is kept. Find returns the Job of a name, or nil.
func closingsOf(owner ownership, active []corev1.ObjectReference, before []closing, find func(name string) *batchv1.Job, now time.Time) []closing {
	var closings []closing
	for _, run := range active {
		found := find(run.Name)
		if found != nil && found.UID == run.UID && !finished(found) {
			continue
		}
		next := closing{name: run.Name, uid: string(run.UID), grace: closedGrace, since: now}
		if found != nil {
			next.grace = closedGraceOf(owner, found)
		}
		for _, known := range before {
			if known.uid == next.uid {
				next.since, next.sentAt = known.since, known.sentAt
			}
		}
		next.result = resultOf(found, next.uid)
		closings = append(closings, next)
	}
	return closings
}

// closedGraceOf is the grace of a Job's end.
func closedGraceOf(owner ownership, found *batchv1.Job) time.Duration {
	if owner.ours(found) {
		return closedGrace
	}
	return 0
}

// resultOf is the result of a run from its Job; nil, or a Job of another UID,
// means that it was deleted.
func resultOf(found *batchv1.Job, uid string) job.Result {
	if found == nil || string(found.UID) != uid {
		return job.Result{UID: uid, Outcome: job.Deleted}
	}
	result := job.Result{
		UID:       uid,
		Outcome:   job.Complete,
		Succeeded: found.Status.Succeeded,
		Failed:    found.Status.Failed,
	}
	if condition := claim.Finished(found); condition != nil {
		result.Outcome = job.Outcome(condition.Type)
		result.Reason, result.Message = condition.Reason, condition.Message
	}
	if found.Status.StartTime != nil {
		result.StartTime = found.Status.StartTime.Time
	}
	if found.Status.CompletionTime != nil {
		result.CompletionTime = found.Status.CompletionTime.Time
	}
	return result
}
