package schedule

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
)

// Which runs may be active beside one another is said here: for the CronJob, for what a manual run asks for, for a
// backfill, and for a delete on request.

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

// Under returns the spec that applies to the start. Only manual runs may ask for another policy, which is without maxConcurrent.
func (s Start) Under(spec Spec) Spec {
	switch {
	case s.Manual && s.Overlap != "":
		spec.ConcurrencyPolicy, spec.MaxConcurrent = s.Overlap, 0
	case s.Backfill != 0 && spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent:
		// A past time replaces a run only if the request says so.
		spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
	}
	return spec
}

// atCapacity reports whether a start has to wait until an active run has ended.
func (s State) atCapacity(spec Spec) bool {
	capacity := spec.Capacity()
	return spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent && capacity > 0 && len(s.Active) >= capacity
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

// keptUntil returns until when no start may replace runs: another create of one of their Jobs may be carried out until then.
func (s State) keptUntil(start Start, spec Spec) (until time.Time) {
	for _, wanted := range s.replacements(start.Under(spec)) {
		if run := s.Active[s.activeIndex(Run{Name: wanted.Name, UID: wanted.UID})]; run.Unclear.After(until) {
			until = run.Unclear
		}
	}
	return until
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
	under := backfill.start(p.state.Identity).Under(p.spec)
	if under.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		// It does not replace its own.
		return !slices.ContainsFunc(p.state.Active, func(run Run) bool { return run.Backfill != 0 })
	}
	own := 0
	for _, run := range p.state.Active {
		if run.Backfill == backfill.Sequence {
			own++
		}
	}
	return !p.state.atCapacity(under) && own < backfill.Parallelism
}

// Replaceable says why no start may replace a run of the CronJob; empty if the CronJob, or the start of a manual run (nil if there
// is none), asks for that.
func Replaceable(object *ostinatov1.CronJob, start *Start) string {
	spec := SpecOf(object)
	if start != nil {
		spec = start.Under(spec)
	}
	if spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
		return "the Job runs, and concurrencyPolicy is not Replace"
	}
	return ""
}
