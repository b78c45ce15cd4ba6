package bridge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

const (
	// ensurePeriod is the least time between the starts of two rounds. A terminated workflow is back within 30 s.
	ensurePeriod = 20 * time.Second
	// ensureShare is the part of the sweep's rate that a round may take.
	ensureShare = 0.1
	// ensurePageWorth is how many questions cost Temporal about as much as a page of a list.
	ensurePageWorth = 50
	// ensureListed is how many listed workflows a round asks for all the same: visibility may never learn of the end of one.
	ensureListed = 10
	// ensureFailures is how many questions in a row may fail before a round asks no more.
	ensureFailures = 5
)

// restarts counts how often the bridge has started the workflow of an object, by its UID, anew.
type restarts = attempts[types.UID]

// toEnsure reports whether a round asks for the workflow of a Job: the Job is under way, and its
// workflow should have started by now and was not restarted just now, lest it becomes a hot loop.
func toEnsure(owner ownership, job *batchv1.Job, known restarts, now time.Time) bool {
	return owner.ours(job) && !finished(job) && known.at(job.UID).wait(now) <= 0 &&
		(acknowledgedJob(job) || now.Sub(job.CreationTimestamp.Time) >= startGrace)
}

// toEnsureCronJob is toEnsure for CronJobs, whose workflows start at once.
func toEnsureCronJob(cronJob *ostinatov1.CronJob, known restarts, now time.Time) bool {
	return cronJob.DeletionTimestamp == nil && known.at(cronJob.UID).wait(now) <= 0
}

// ensureRound is a round over the objects of one kind, by the IDs of their workflows. Most are
// found in a list of those that run; at most ensurePageWorth and ensureListed are asked for.
type ensureRound struct {
	due map[string]key
	// unlisted are those of due that no page has shown yet.
	unlisted sets.Set[string]
	// pages is how many more pages are worth reading.
	pages int
}

func newEnsureRound(due map[string]key) *ensureRound {
	return &ensureRound{due: due, unlisted: sets.KeySet(due), pages: len(due) / ensurePageWorth}
}

func (a *ensureRound) wantsPage() bool { return a.pages > 0 && len(a.unlisted) > ensurePageWorth }

// read takes a page of IDs of workflows that run.
func (a *ensureRound) read(page []string) {
	a.pages--
	a.unlisted.Delete(page...)
}

// toAsk returns the IDs of the workflows to ask for, in order: those that no page has shown, and
// the next of the others, in a circle, after where the last round stopped. next is where this one stops.
func (a *ensureRound) toAsk(after string) (ids []string, next string) {
	listed := sets.List(sets.KeySet(a.due).Difference(a.unlisted))
	first, found := slices.BinarySearch(listed, after)
	if found {
		first++
	}
	listed = slices.Concat(listed[first:], listed[:first])
	listed = listed[:min(ensureListed, len(listed))]
	if len(listed) > 0 {
		after = listed[len(listed)-1]
	}
	return sets.List(a.unlisted.Union(sets.New(listed...))), after
}
