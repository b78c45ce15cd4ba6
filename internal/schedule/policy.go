package schedule

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
)

// Which runs may be active beside one another is said here: for the CronJob, for what a manual run asks for, for a
// backfill, and for a delete that somebody asks for.

// policies are the concurrency policies of a CronJob; a manual run may ask for another one.
var policies = []batchv1.ConcurrencyPolicy{
	batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, ostinatov1.QueueConcurrent,
}

// OverlapMistake says what is wrong with a manual run's overlap; empty if nothing is.
func OverlapMistake(overlap batchv1.ConcurrencyPolicy) string {
	if overlap == "" || slices.Contains(policies, overlap) {
		return ""
	}
	return fmt.Sprintf("overlap is %.40q: use Allow, Forbid, Replace or Queue, or leave it out for the CronJob's concurrencyPolicy", string(overlap))
}

// Capacity returns how many runs may be active at once; 0 means any number.
func (s Spec) Capacity() int {
	switch {
	case s.MaxConcurrent > 0:
		return int(s.MaxConcurrent)
	case s.ConcurrencyPolicy == batchv1.AllowConcurrent:
		return 0
	}
	return 1
}

// queues reports whether runs wait their turn while others are active.
func (s Spec) queues() bool { return s.ConcurrencyPolicy == ostinatov1.QueueConcurrent }

// inOrder reports whether waiting runs queue, the oldest first. Otherwise at most one waits, and the next replaces it.
func (s Spec) inOrder() bool { return s.queues() || s.catchesUpAll() }

// Policy returns the start's concurrency policy, given the CronJob's. Only manual runs may ask for another.
func (s Start) Policy(cronJobs batchv1.ConcurrencyPolicy) batchv1.ConcurrencyPolicy {
	switch {
	case s.Manual && s.Overlap != "":
		return s.Overlap
	case s.Backfill != 0 && cronJobs == batchv1.ReplaceConcurrent:
		// A past time replaces a run only where somebody says so.
		return batchv1.ForbidConcurrent
	}
	return cronJobs
}

// Under returns the spec that applies to the start: an overlap is without maxConcurrent.
func (s Start) Under(spec Spec) Spec {
	spec.ConcurrencyPolicy = s.Policy(spec.ConcurrencyPolicy)
	if s.Manual && s.Overlap != "" {
		spec.MaxConcurrent = 0
	}
	return spec
}

// full reports whether no more runs may be active.
func (s State) full(spec Spec) bool {
	capacity := spec.Capacity()
	return capacity > 0 && len(s.Active) >= capacity
}

// atCapacity reports whether a start has to wait until an active run has ended.
func (s State) atCapacity(spec Spec) bool {
	return spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent && s.full(spec)
}

// replacements are the deletes of the oldest runs that make room for another one.
func (s State) replacements(spec Spec) []Delete {
	if spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
		return nil
	}
	var deletes []Delete
	for _, run := range s.Active[:max(len(s.Active)-spec.Capacity()+1, 0)] {
		deletes = append(deletes, Delete{Name: run.Name, UID: run.UID, Replaced: true})
	}
	return deletes
}

// alreadyActive is the Event of a run that is held back; upstream's words where upstream has them (parity 1.9).
func alreadyActive(spec Spec) event.Event {
	if spec.MaxConcurrent == 0 && !spec.queues() {
		return event.Normal("JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
	}
	return event.Normal("JobAlreadyActive", fmt.Sprintf(
		"Not starting job because as many executions are running as may be (%d) and concurrency policy is %s", spec.Capacity(), spec.ConcurrencyPolicy))
}

// mayBackfill reports whether a run of the backfill may start beside those that are active.
func (p *pass) mayBackfill(backfill Backfill) bool {
	own, backfilled := 0, 0
	for _, run := range p.state.Active {
		if run.Backfill != 0 {
			backfilled++
		}
		if run.Backfill == backfill.Sequence {
			own++
		}
	}
	under := backfill.start(p.state.Identity).Under(p.spec)
	if under.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		// It does not replace its own.
		return backfilled == 0
	}
	return !p.state.full(under) && own < backfill.Parallelism
}

// Deletable judges the delete of a Job that the CronJob controls: one that runs is deleted only to be replaced, if the
// CronJob or the start of a manual run (nil if there is none) asks for that. It returns why not; empty if it may be.
func Deletable(object *ostinatov1.CronJob, wanted Delete, finished bool, start *Start) string {
	policy := object.Spec.ConcurrencyPolicy
	if start != nil {
		policy = start.Policy(policy)
	}
	switch {
	case finished:
		return ""
	case !wanted.Replaced:
		return "the Job runs"
	case policy != batchv1.ReplaceConcurrent:
		return "the Job runs, and concurrencyPolicy is not Replace"
	}
	return ""
}
