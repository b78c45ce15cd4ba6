package bridge

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/claim"
)

// errNoFinishTime means that a finished Job's condition has no lastTransitionTime.
var errNoFinishTime = errors.New("the Job's terminal condition has no lastTransitionTime, so the end of its TTL is unknown")

// ttlDecision says what spec.ttlSecondsAfterFinished asks for now.
type ttlDecision struct {
	// expired is when the Job's time was over: it is to be deleted. Zero before,
	// and for a Job that stays.
	expired time.Time
	// again is when to look again; 0 means at the next change.
	again time.Duration
	// skewed is set when the Job has finished in the future, by this clock.
	skewed bool
}

// hasTTL reports whether the Job is to be deleted some time: it has finished, has
// a TTL, and is not being deleted (parity 2.15). Who manages it does not matter.
func hasTTL(job *batchv1.Job) bool {
	return job.Spec.TTLSecondsAfterFinished != nil && job.DeletionTimestamp == nil && finished(job)
}

// decideTTL decides whether a Job has outlived its TTL. The error is
// errNoFinishTime; another look may tell more.
func decideTTL(job *batchv1.Job, now time.Time) (ttlDecision, error) {
	if !hasTTL(job) {
		return ttlDecision{}, nil
	}
	finishedAt := claim.Finished(job).LastTransitionTime
	if finishedAt.IsZero() {
		return ttlDecision{}, errNoFinishTime
	}
	decision := ttlDecision{skewed: finishedAt.After(now)}
	end := finishedAt.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second)
	if decision.again = end.Sub(now); decision.again <= 0 {
		decision.expired, decision.again = end, 0
	}
	return decision, nil
}
