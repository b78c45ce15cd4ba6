package bridge

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

const (
	// attendPeriod is the time between the beginnings of two rounds over the Jobs that
	// are under way, unless one takes longer.
	attendPeriod = 30 * time.Second
	// attendShare is the part of the sweep's rate that a round may take.
	attendShare = 0.1
)

// restarts is what the bridge remembers of a Job whose workflow it had to start again
// because the one before had ended. Losing it costs a restart.
type restarts struct {
	uid   string
	times int
	last  time.Time
}

// toAttend reports whether a round asks for the workflow of a Job: the Job is under
// way, somebody has had the time to start its workflow, and the last restart was not
// just now, for a workflow that fails again at once must not become a hot loop.
func toAttend(owner ownership, job *batchv1.Job, known restarts, now time.Time) bool {
	if !owner.ours(job) || finished(job) {
		return false
	}
	if !acknowledgedJob(job) && now.Sub(job.CreationTimestamp.Time) < childGrace {
		return false
	}
	return known.uid != string(job.UID) || now.Sub(known.last) >= repeatWait(known.times)
}
