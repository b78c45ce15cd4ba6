package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

const (
	// attendPeriod is the time between the beginnings of two rounds over the CronJobs and the
	// Jobs that are under way, unless one takes longer. A workflow that was terminated is
	// back within 30 s.
	attendPeriod = 20 * time.Second
	// attendShare is the part of the sweep's rate that a round may take.
	attendShare = 0.1
	// attendPageWorth is how many workflows a round rather asks for one by one than
	// that it reads a page of a list, which costs visibility about as much.
	attendPageWorth = 50
	// attendListed is how many workflows that a list says run a round asks for all the
	// same: a list may be wrong for good, where visibility has lost the end of one.
	attendListed = 10
	// attendFailures is how many questions in a row may fail before a round asks no more.
	attendFailures = 5
)

// restarts is what the bridge remembers of an object whose workflow it had to start again
// because the one before had ended. Losing it costs a restart.
type restarts struct {
	uid string
	attempts
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
	return known.rested(string(job.UID), now)
}

// toAttendCronJob is toAttend for CronJobs, whose workflows start at once.
func toAttendCronJob(cronJob *ostinatov1.CronJob, known restarts, now time.Time) bool {
	return cronJob.DeletionTimestamp == nil && known.rested(string(cronJob.UID), now)
}

// rested reports whether the workflow of the object may be started again.
func (r restarts) rested(uid string, now time.Time) bool { return r.uid != uid || r.wait(now) <= 0 }

// another counts one more restart.
func (r restarts) another(uid string, now time.Time) restarts {
	if r.uid != uid {
		r = restarts{uid: uid}
	}
	return restarts{uid, r.attempts.another(now)}
}

// attendance is a round over the objects of one kind, by the IDs of their workflows: some
// are found in a list of those that run, the others are asked for. So a round makes at most
// attendPageWorth and attendListed questions however many workflows run, and a page for each
// attendPageWorth objects at most.
type attendance struct {
	due map[string]key
	// unlisted are those of due that no page has shown yet.
	unlisted map[string]bool
	// pages is how many more pages are worth reading.
	pages int
}

func newAttendance(due map[string]key) *attendance {
	a := &attendance{due: due, unlisted: make(map[string]bool, len(due)), pages: len(due) / attendPageWorth}
	for id := range due {
		a.unlisted[id] = true
	}
	return a
}

// wantsPage reports whether to read another page.
func (a *attendance) wantsPage() bool { return a.pages > 0 && len(a.unlisted) > attendPageWorth }

// read takes a page of IDs of workflows that run.
func (a *attendance) read(page []string) {
	a.pages--
	for _, id := range page {
		delete(a.unlisted, id)
	}
}

// toAsk returns the IDs of the workflows to ask for, in order: those that no page has
// shown, and the next of the others after the ID at which the round before stopped,
// from the first again after the last. next is where this one stops.
func (a *attendance) toAsk(after string) (ids []string, next string) {
	var listed []string
	for id := range a.due {
		if a.unlisted[id] {
			ids = append(ids, id)
		} else {
			listed = append(listed, id)
		}
	}
	slices.Sort(listed)
	first, found := slices.BinarySearch(listed, after)
	if found {
		first++
	}
	listed = slices.Concat(listed[first:], listed[:first])
	listed = listed[:min(attendListed, len(listed))]
	if len(listed) > 0 {
		after = listed[len(listed)-1]
	}
	ids = append(ids, listed...)
	slices.Sort(ids)
	return ids, after
}
