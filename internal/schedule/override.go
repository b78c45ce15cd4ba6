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

// Under returns the spec as it is for the start: who asks for another concurrency policy
// asks for it without maxConcurrent.
func (s Start) Under(spec Spec) Spec {
	spec.ConcurrencyPolicy = s.Policy(spec.ConcurrencyPolicy)
	if s.Manual && s.Overlap != "" {
		spec.MaxConcurrent = 0
	}
	return spec
}

// under returns the spec as it is for the trigger's run.
func (t Trigger) under(spec Spec) Spec { return Start{Manual: true, Overlap: t.Overlap}.Under(spec) }

// settleForbidden records the triggers whose runs may neither start beside those that are
// active nor wait, and notes which wait.
func (s *State) settleForbidden(spec Spec, now time.Time) {
	s.Triggers = slices.DeleteFunc(s.Triggers, func(trigger Trigger) bool {
		under := trigger.under(spec)
		if !s.heldBack(under) || under.queues() {
			return false
		}
		s.Outbox = append(s.Outbox, alreadyActive(under))
		s.record(trigger.entry(SkippedOverlap, ReasonJobAlreadyActive, now))
		return true
	})
	for index := range s.Triggers {
		trigger := &s.Triggers[index]
		trigger.Blocked = trigger.Blocked || s.heldBack(trigger.under(spec))
	}
}

// nextTrigger returns the first trigger that does not wait for runs that are active; nil
// when there is none.
func (s *State) nextTrigger(spec Spec) *Trigger {
	for index := range s.Triggers {
		if !s.heldBack(s.Triggers[index].under(spec)) {
			return &s.Triggers[index]
		}
	}
	return nil
}

// triggerIndex finds the trigger of a start; -1 when it is settled.
func (s *State) triggerIndex(start Start) int {
	return slices.IndexFunc(s.Triggers, func(trigger Trigger) bool { return trigger.Sequence == start.Sequence })
}

// refuseTrigger answers a trigger that can't be read.
func (s *State) refuseTrigger(trigger Trigger, mistake string, now time.Time) {
	s.Outbox = append(s.Outbox, event.Warning("TriggerRefused", mistake))
	entry := trigger.entry(FailedToCreate, ReasonInvalidSignal, now)
	entry.Message = withNote(mistake, trigger.Note)
	s.record(entry)
}

// withNote adds a person's note to a text.
func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + "; " + note
}
