package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
)

// changing returns who has asked, with what an overlap changes.
func changing(asked ledger.Asked, overlap batchv1.ConcurrencyPolicy) ledger.Asked {
	if overlap != "" {
		asked.Changed = "concurrencyPolicy " + string(overlap)
	}
	return asked
}

// TriggerRequest asks for one manual run.
type TriggerRequest struct {
	ledger.Asked
	// Note is the sender's.
	Note string
	// Overlap is the concurrency policy that the sender asks for; empty for the CronJob's.
	Overlap batchv1.ConcurrencyPolicy
}

// Trigger asks for one manual run.
type Trigger struct {
	// Sequence numbers the CronJob's triggers, ascending; the Job's name is made from it.
	Sequence int64 `json:"sequence"`
	// At is when the trigger arrived.
	At time.Time `json:"at"`
	// Note is the sender's, Asked who that is.
	Note string `json:"note,omitempty"`
	ledger.Asked
	// Overlap is the concurrency policy that the sender asks for; empty for the CronJob's.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
	Delay
}

// AddTrigger returns the state with one more trigger, or its row if refused. Its number is TriggerSequence.
func AddTrigger(state State, request TriggerRequest, now time.Time) State {
	s, now := state.clone(), now.UTC()
	s.TriggerSequence++
	trigger := Trigger{Sequence: s.TriggerSequence, At: now, Note: request.Note, Asked: request.Asked.Bounded()}
	if mistake := OverlapMistake(request.Overlap); mistake != "" {
		s.Outbox = append(s.Outbox, event.Warning("TriggerRefused", mistake))
		if trigger.Note != "" {
			mistake += "; " + trigger.Note
		}
		trigger.Note = mistake
		s.record(trigger.entry(ledger.FailedToCreate, ledger.ReasonInvalidSignal, now))
		return s
	}
	trigger.Overlap, trigger.Asked = request.Overlap, changing(trigger.Asked, request.Overlap)
	if len(s.Triggers) >= maxTriggers {
		s.record(trigger.entry(ledger.SkippedOverlap, ledger.ReasonTooManyTriggers, now))
		return s
	}
	s.Triggers = append(s.Triggers, trigger)
	return s
}

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

// start returns the start of the trigger's run, but for its Job's name.
func (t Trigger) start() Start {
	return Start{
		Scheduled: t.At.Truncate(time.Second), Manual: true, Sequence: t.Sequence, Overlap: t.Overlap, Note: t.Note, Asked: t.Asked,
	}
}

// settleForbidden settles the triggers that may neither start now nor wait, and marks those that wait.
func (s *State) settleForbidden(spec Spec, now time.Time) {
	s.Triggers = slices.DeleteFunc(s.Triggers, func(trigger Trigger) bool {
		under := trigger.start().Under(spec)
		if !s.atCapacity(under) || under.queues() {
			return false
		}
		s.Outbox = append(s.Outbox, alreadyActive(under))
		s.record(trigger.entry(ledger.SkippedOverlap, ledger.ReasonJobAlreadyActive, now))
		return true
	})
	for index := range s.Triggers {
		trigger := &s.Triggers[index]
		trigger.Blocked = trigger.Blocked || s.atCapacity(trigger.start().Under(spec))
	}
}

// nextTrigger returns the first trigger that does not wait for runs that are active; nil when there is none.
func (s *State) nextTrigger(spec Spec) *Trigger {
	return firstOf(s.Triggers, func(trigger Trigger) bool { return !s.atCapacity(trigger.start().Under(spec)) })
}

// trigger returns the trigger of a number; nil when it is settled.
func (s *State) trigger(sequence int64) *Trigger {
	return firstOf(s.Triggers, func(trigger Trigger) bool { return trigger.Sequence == sequence })
}

func (s *State) dropTrigger(sequence int64) {
	s.Triggers = slices.DeleteFunc(s.Triggers, func(trigger Trigger) bool { return trigger.Sequence == sequence })
}

// triggeredStart returns the start of the next trigger's run, unless its retry has to wait; nil if there is none.
func (s *State) triggeredStart(spec Spec, now time.Time) *Start {
	trigger := s.nextTrigger(spec)
	if trigger == nil || now.Before(trigger.Retry.Until) {
		return nil
	}
	start := trigger.start()
	start.Name = names.TriggeredJob(s.Name, s.UID, trigger.Sequence)
	start.WhyLate, start.LateMessage = trigger.why()
	start.WhyLate = cmp.Or(start.WhyLate, ledger.ReasonOutage)
	return &start
}

// dropTriggers forgets the manual runs of a CronJob that is being deleted.
func (s *State) dropTriggers(now time.Time) {
	for _, trigger := range s.Triggers {
		s.record(trigger.entry(ledger.SkippedSuperseded, ledger.ReasonDeleting, now))
	}
	s.Triggers = nil
}

func (t Trigger) entry(outcome ledger.Outcome, reason string, now time.Time) ledger.Entry {
	return t.start().row(outcome, reason, t.Note, now)
}

// waitingTriggers are the rows of triggers that wait for other runs, or to retry. The status does not have them.
func (s State) waitingTriggers() []ledger.Entry {
	var rows []ledger.Entry
	for _, trigger := range s.Triggers {
		if reason, message := trigger.why(); reason != "" {
			rows = append(rows, trigger.start().row(ledger.Queued, reason, cmp.Or(message, trigger.Note), time.Time{}).Bounded())
		}
	}
	return rows
}

// TriggerRuns says when the run of a trigger runs.
type TriggerRuns string

const (
	// RunsNow: its Job is made.
	RunsNow TriggerRuns = "now"
	// RunsQueued: it waits for other runs to end, or its Job was refused and is tried again.
	RunsQueued TriggerRuns = "queued"
	// RunsRefused: it never will.
	RunsRefused TriggerRuns = "refused"
)

// TriggerAnswer says what becomes of a trigger.
type TriggerAnswer struct {
	// Job is the name of the run's Job; empty where it is refused.
	Job  string      `json:"job,omitempty"`
	Runs TriggerRuns `json:"runs"`
	// Reason says why it does not run now: as in the ledger, with the API server's words.
	Reason string `json:"reason,omitempty"`
}

// Answer returns what becomes of the trigger with a number (TriggerSequence after AddTrigger), once that is known.
func Answer(state State, sequence int64) (answer TriggerAnswer, known bool) {
	job := names.TriggeredJob(state.Name, state.UID, sequence)
	if trigger := state.trigger(sequence); trigger != nil {
		reason, message := trigger.why()
		if reason == "" {
			return TriggerAnswer{}, false
		}
		return TriggerAnswer{Job: job, Runs: RunsQueued, Reason: cmp.Or(message, reason)}, true
	}
	for _, entry := range slices.Backward(state.Ledger.Entries) {
		switch {
		case entry.Sequence != sequence:
		case entry.Outcome.HasJob():
			return TriggerAnswer{Job: job, Runs: RunsNow}, true
		default:
			return TriggerAnswer{Runs: RunsRefused, Reason: entry.Why()}, true
		}
	}
	return TriggerAnswer{Runs: RunsRefused, Reason: "it is forgotten: the ledger has no row of it"}, true
}
