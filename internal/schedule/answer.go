package schedule

import "ostinato.dev/ostinato/internal/names"

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

// Answer returns what becomes of the trigger with a number (State.TriggerSequence after
// AddTrigger); known is false as long as nobody can tell.
func Answer(state State, sequence int64) (answer TriggerAnswer, known bool) {
	job := names.TriggeredJob(state.Name, state.UID, sequence)
	if index := state.triggerIndex(Start{Sequence: sequence}); index >= 0 {
		switch trigger := state.Triggers[index]; {
		case trigger.Reason != "":
			return TriggerAnswer{Job: job, Runs: RunsQueued, Reason: trigger.text()}, true
		case trigger.Blocked:
			return TriggerAnswer{Job: job, Runs: RunsQueued, Reason: ReasonJobAlreadyActive}, true
		}
		return TriggerAnswer{}, false
	}
	for index := len(state.Ledger) - 1; index >= 0; index-- {
		entry := state.Ledger[index]
		switch {
		case entry.Sequence != sequence:
		case entry.Outcome.HasJob():
			return TriggerAnswer{Job: job, Runs: RunsNow}, true
		default:
			return TriggerAnswer{Runs: RunsRefused, Reason: entry.why()}, true
		}
	}
	return TriggerAnswer{Runs: RunsRefused, Reason: "it is forgotten: the ledger has no row of it"}, true
}

// why says in one line why a run has not started. The message is the sender's note, unless the
// API server or what can't be read has given one.
func (e LedgerEntry) why() string {
	if e.Outcome == FailedToCreate && e.Message != "" {
		return e.Reason + ": " + e.Message
	}
	return e.Reason
}
