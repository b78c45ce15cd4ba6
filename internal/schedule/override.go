package schedule

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
)

// overlaps are what a manual run may ask for in place of the CronJob's concurrencyPolicy.
var overlaps = []batchv1.ConcurrencyPolicy{
	batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, ostinatov1.QueueConcurrent,
}

// OverlapMistake says what is wrong with the overlap that a manual run asks for; empty when
// nothing is. No overlap is the CronJob's concurrencyPolicy.
func OverlapMistake(overlap batchv1.ConcurrencyPolicy) string {
	if overlap == "" || slices.Contains(overlaps, overlap) {
		return ""
	}
	return fmt.Sprintf("overlap is %.40q: use Allow, Forbid, Replace or Queue, or leave it out for the CronJob's concurrencyPolicy", string(overlap))
}

// Policy returns the concurrency policy that the start is under, given the CronJob's. Only a
// manual run may ask for another one.
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

// policy returns the concurrency policy of the trigger's run.
func (t Trigger) policy(spec Spec) batchv1.ConcurrencyPolicy {
	return Start{Manual: true, Overlap: t.Overlap}.Policy(spec.ConcurrencyPolicy)
}

// settleForbidden records the triggers whose runs may neither start beside those that are
// active nor wait, and notes which wait.
func (s *State) settleForbidden(spec Spec, now time.Time) {
	if len(s.Active) == 0 {
		return
	}
	s.Triggers = slices.DeleteFunc(s.Triggers, func(trigger Trigger) bool {
		if trigger.policy(spec) != batchv1.ForbidConcurrent {
			return false
		}
		s.Outbox = append(s.Outbox, alreadyActive())
		s.record(trigger.entry(SkippedOverlap, ReasonJobAlreadyActive, now))
		return true
	})
	for index := range s.Triggers {
		trigger := &s.Triggers[index]
		trigger.Blocked = trigger.Blocked || trigger.policy(spec) == ostinatov1.QueueConcurrent
	}
}

// nextTrigger returns the first trigger that does not wait for runs that are active; nil
// when there is none.
func (s *State) nextTrigger(spec Spec) *Trigger {
	for index := range s.Triggers {
		if len(s.Active) == 0 || s.Triggers[index].policy(spec) != ostinatov1.QueueConcurrent {
			return &s.Triggers[index]
		}
	}
	return nil
}

// triggerIndex finds the trigger of a start; -1 when it is settled.
func (s *State) triggerIndex(start Start) int {
	return slices.IndexFunc(s.Triggers, func(trigger Trigger) bool { return trigger.Sequence == start.Sequence })
}

// replacedBy returns the deletes of the runs that a start replaces.
func (s *State) replacedBy(start Start, spec Spec) []Delete {
	if start.Policy(spec.ConcurrencyPolicy) != batchv1.ReplaceConcurrent {
		return nil
	}
	var deletes []Delete
	for _, run := range s.Active {
		deletes = append(deletes, Delete{Name: run.Name, UID: run.UID, Replaced: true})
	}
	return deletes
}

// exclusive reports whether a run that waits may not overlap with every other.
func (s *State) exclusive(spec Spec) bool {
	return spec.ConcurrencyPolicy != batchv1.AllowConcurrent ||
		slices.ContainsFunc(s.Triggers, func(trigger Trigger) bool { return trigger.policy(spec) != batchv1.AllowConcurrent }) ||
		slices.ContainsFunc(s.Backfills, func(b Backfill) bool { return b.Overlap != "" && b.Overlap != batchv1.AllowConcurrent })
}

// refuseTrigger answers a trigger that can't be read.
func (s *State) refuseTrigger(note, mistake string, now time.Time) {
	s.Outbox = append(s.Outbox, event.Warning("TriggerRefused", mistake))
	s.record(LedgerEntry{
		Scheduled: now.Truncate(time.Second), Recorded: now, Outcome: FailedToCreate, Reason: ReasonInvalidSignal,
		Message: withNote(mistake, note), Manual: true,
	})
}

// withNote adds a person's note to a text.
func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + "; " + note
}
