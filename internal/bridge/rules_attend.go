package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

const (
	// attendPeriod is the time between the starts of two rounds over the CronJobs and the Jobs
	// under way, unless one takes longer. A terminated workflow is back within 30 s.
	attendPeriod = 20 * time.Second
	// attendShare is the part of the sweep's rate that a round may take.
	attendShare = 0.1
	// attendPageWorth is how many questions cost Temporal about as much as a page of a list.
	attendPageWorth = 50
	// attendListed is how many listed workflows a round asks for all the same: visibility may
	// have lost the end of one for good.
	attendListed = 10
	// attendFailures is how many questions in a row may fail before a round asks no more.
	attendFailures = 5
)

// restarts counts how often the bridge has started the workflow of an object anew.
type restarts struct {
	uid string
	attempts
}

// toAttend reports whether a round asks for the workflow of a Job: the Job is under way, and its
// workflow should have started by now and was not restarted just now, lest it becomes a hot loop.
func toAttend(owner ownership, job *batchv1.Job, known restarts, now time.Time) bool {
	return owner.ours(job) && !finished(job) && known.rested(string(job.UID), now) &&
		(acknowledgedJob(job) || now.Sub(job.CreationTimestamp.Time) >= childGrace)
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

// attendance is a round over the objects of one kind, by the IDs of their workflows. Most are
// found in a list of those that run; at most attendPageWorth and attendListed are asked for.
type attendance struct {
	due map[string]key
	// unlisted are those of due that no page has shown yet.
	unlisted sets.Set[string]
	// pages is how many more pages are worth reading.
	pages int
}

func newAttendance(due map[string]key) *attendance {
	return &attendance{due: due, unlisted: sets.KeySet(due), pages: len(due) / attendPageWorth}
}

// wantsPage reports whether to read another page.
func (a *attendance) wantsPage() bool { return a.pages > 0 && len(a.unlisted) > attendPageWorth }

// read takes a page of IDs of workflows that run.
func (a *attendance) read(page []string) {
	a.pages--
	a.unlisted.Delete(page...)
}

// toAsk returns the IDs of the workflows to ask for, in order: those that no page has shown, and
// the next of the others, in a circle, after where the last round stopped. next is where this one stops.
func (a *attendance) toAsk(after string) (ids []string, next string) {
	listed := sets.List(sets.KeySet(a.due).Difference(a.unlisted))
	first, found := slices.BinarySearch(listed, after)
	if found {
		first++
	}
	listed = slices.Concat(listed[first:], listed[:first])
	listed = listed[:min(attendListed, len(listed))]
	if len(listed) > 0 {
		after = listed[len(listed)-1]
	}
	return sets.List(a.unlisted.Union(sets.New(listed...))), after
}
