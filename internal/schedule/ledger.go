package schedule

import "time"

// LedgerEntry is the recorded outcome of one scheduled time, of one manual
// trigger, or of a stretch of scheduled times that share an outcome and reason.
type LedgerEntry struct {
	// Scheduled is the scheduled time; of a stretch the first; of a manual run the
	// time of the trigger.
	Scheduled time.Time `json:"scheduled"`
	// Until is the last scheduled time of a stretch; zero otherwise.
	Until time.Time `json:"until,omitzero"`
	// Count is the number of scheduled times; 0 means 1.
	Count int64 `json:"count,omitempty"`
	// Estimated is set when Count is an estimate, since the stretch was too long to walk,
	// or when Scheduled and Until are, since a time of the stretch has started after all.
	Estimated bool `json:"estimated,omitempty"`
	// Recorded is when the outcome was known; of a started run when it started.
	Recorded time.Time `json:"recorded"`
	// Outcome is one of the constants below.
	Outcome LedgerOutcome `json:"outcome"`
	// Reason is one of the Reason constants; empty for Started.
	Reason string `json:"reason,omitempty"`
	// Message adds detail for people.
	Message string `json:"message,omitempty"`
	// Job is the name of the run's Job (Started).
	Job string `json:"job,omitempty"`
	// Manual marks the outcome of a trigger.
	Manual bool `json:"manual,omitempty"`
}

// LedgerOutcome says what became of a scheduled time.
type LedgerOutcome string

const (
	// Started: the run's Job exists.
	Started LedgerOutcome = "Started"
	// Skipped: a rule of the CronJob said not to start.
	Skipped LedgerOutcome = "Skipped"
	// Missed: nobody could start it in time.
	Missed LedgerOutcome = "Missed"
	// NotAccepted: the API server refused the Job for as long as the run was due.
	NotAccepted LedgerOutcome = "Refused"
)

// Reasons of a LedgerEntry.
const (
	// ReasonJobAlreadyActive: concurrencyPolicy Forbid and a run was active.
	ReasonJobAlreadyActive = "JobAlreadyActive"
	// ReasonSuspended: the CronJob was suspended.
	ReasonSuspended = "Suspended"
	// ReasonStartingDeadlineExceeded: spec.startingDeadlineSeconds had passed.
	ReasonStartingDeadlineExceeded = "StartingDeadlineExceeded"
	// ReasonSuperseded: a later scheduled time was due before it could start.
	ReasonSuperseded = "Superseded"
	// ReasonScheduleChanged: the schedule was edited before it could start.
	ReasonScheduleChanged = "ScheduleChanged"
	// ReasonFailedCreate: the API server refused the Job; Message says why.
	ReasonFailedCreate = "FailedCreate"
	// ReasonTooManyTriggers: more triggers were waiting than are kept.
	ReasonTooManyTriggers = "TooManyTriggers"
	// ReasonDeleting: the CronJob is being deleted.
	ReasonDeleting = "Deleting"
)

// entry returns the outcome of each time of the stretch.
func (m MissedRuns) entry(outcome LedgerEntry) LedgerEntry {
	outcome.Scheduled, outcome.Until, outcome.Count, outcome.Estimated = m.First, time.Time{}, 0, m.Estimated
	if m.Last.After(m.First) {
		outcome.Until, outcome.Count = m.Last, m.Count
	}
	return outcome
}

// ledgerLimit bounds State.Ledger; older entries fall out.
const ledgerLimit = 50

// Times returns how many scheduled times the entry stands for.
func (e LedgerEntry) Times() int64 { return max(e.Count, 1) }

// last returns the last scheduled time of the entry.
func (e LedgerEntry) last() time.Time {
	if e.Until.IsZero() {
		return e.Scheduled
	}
	return e.Until
}

// record appends an outcome. Adjoining scheduled times that were not started for
// the same reason share an entry, so that a long blockage does not push the runs
// before it out of the ledger.
func (s *State) record(entry LedgerEntry) {
	if last := len(s.Ledger) - 1; last >= 0 && s.Ledger[last].joins(entry) {
		joined := &s.Ledger[last]
		joined.Count = joined.Times() + entry.Times()
		joined.Until = entry.last()
		joined.Estimated = joined.Estimated || entry.Estimated
		joined.Recorded = entry.Recorded
		joined.Message = entry.Message
		return
	}
	s.Ledger = append(s.Ledger, entry)
	s.boundLedger()
}

func (s *State) boundLedger() {
	if over := len(s.Ledger) - ledgerLimit; over > 0 {
		s.Ledger = append([]LedgerEntry(nil), s.Ledger[over:]...)
	}
}

func (e LedgerEntry) joins(next LedgerEntry) bool {
	return e.Outcome != Started && e.Outcome == next.Outcome && e.Reason == next.Reason &&
		!e.Manual && !next.Manual
}

// settle records the outcome of a scheduled time, whose run is then no longer due.
func (s *State) settle(entry LedgerEntry) {
	s.record(entry)
	s.Settled = later(s.Settled, entry.last())
	if s.Pending != nil && !s.Pending.Scheduled.After(s.Settled) {
		s.Pending = nil
	}
	if !s.Calendar.Due.After(s.Settled) {
		s.Calendar.Due = time.Time{}
	}
}
