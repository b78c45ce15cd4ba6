package schedule

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// lateAfter is how long after its scheduled time a run may start and not be late.
const lateAfter = time.Minute

// entry returns the outcome of each time of the stretch.
func (m MissedRuns) entry(outcome ledger.Entry) ledger.Entry {
	outcome.Scheduled, outcome.Until, outcome.Count, outcome.Estimated = m.First, time.Time{}, 0, m.Estimated
	if m.Last.After(m.First) {
		outcome.Until, outcome.Count = m.Last, m.Count
	}
	return outcome
}

// record appends an outcome.
func (s *State) record(entry ledger.Entry) { s.Ledger = s.Ledger.Record(entry, s.open) }

// open reports whether a time between two entries waits, or is missed and not settled.
func (s *State) open(former, next ledger.Entry) bool {
	gap := ledger.Entry{Scheduled: former.Scheduled, Until: next.Last()}
	return slices.ContainsFunc(s.queue(), func(scheduled time.Time) bool {
		return gap.Covers(scheduled) && !next.Covers(scheduled) && !former.Covers(scheduled)
	}) || slices.ContainsFunc(s.Calendar.Missed, func(missed MissedRuns) bool {
		return missed.Last.After(gap.Scheduled) && missed.First.Before(gap.Until)
	})
}

// settle records the outcome of a scheduled time, whose run is then no longer due.
func (s *State) settle(entry ledger.Entry) {
	s.record(entry)
	s.Settled = times.Later(s.Settled, entry.Last())
	if s.Pending != nil && entry.Covers(s.Pending.Scheduled) {
		s.Pending = nil
	}
	for _, scheduled := range s.queue() {
		if entry.Covers(scheduled) {
			s.takeOut(scheduled)
		}
	}
}

// row returns an outcome of the start.
func (s Start) row(outcome ledger.Outcome, reason, message string, now time.Time) ledger.Entry {
	return ledger.Entry{
		Scheduled: s.Scheduled, Recorded: now, Outcome: outcome, Reason: reason, Message: message, Manual: s.Manual,
		Asked: s.Asked, Sequence: s.Sequence,
	}
}

// entry returns the outcome of a start whose Job exists.
func (s Start) entry(job Run, now time.Time) ledger.Entry {
	entry := s.row(ledger.Started, "", s.Note, now)
	entry.Job = job.Name
	if !job.Started.IsZero() {
		entry.Recorded = job.Started.UTC()
	}
	if s.Backfill != 0 {
		// Nobody expected it in time.
		return entry.Bounded()
	}
	if s.WhyLate == ledger.ReasonTimerLost || entry.Recorded.Sub(s.Scheduled) > lateAfter {
		entry.Outcome, entry.Reason = ledger.StartedLate, s.WhyLate
		if s.LateMessage != "" {
			entry.Message = s.LateMessage
		}
	}
	return entry.Bounded()
}

// whyLate says what holds up a run, should it start late; otherwise if nothing is known.
func (s *State) whyLate(due time.Time, otherwise string) (reason, message string) {
	reason, message = s.delay(due).why()
	caughtUp := !due.After(s.Calendar.CaughtUp)
	switch {
	case reason == ledger.ReasonFailedCreate:
		return reason, message
	case !caughtUp && (reason != "" || !due.After(s.Calendar.Announced)):
		return ledger.ReasonJobAlreadyActive, ""
	case s.Suspension.covers(due):
		return ledger.ReasonSuspended, ""
	case caughtUp:
		return ledger.ReasonOutage, ""
	case !s.Nudged.Before(due):
		return ledger.ReasonTimerLost, ""
	}
	return otherwise, ""
}

// Nudge returns the state after the bridge noticed an overdue run whose timer has not fired.
func Nudge(state State, now time.Time) State {
	s := state.clone()
	if calendar := s.Calendar; len(calendar.Upcoming) > 0 && !calendar.Upcoming[0].After(now) {
		s.Nudged = now.UTC()
	}
	return s
}

// Tallied returns how many scheduled times got which outcome since the last call, and the state without these counts.
func Tallied(state State) (rest State, tallies []ledger.Tally) {
	state.Ledger, tallies = state.Ledger.Tallied()
	return state, tallies
}

// end returns the end of the run.
func (f Finished) end() ledger.End {
	end := ledger.End{Result: ledger.Failed, ResultReason: f.Reason, Ended: f.EndTime.UTC(), FailedAttempts: max(f.FailedPods, 0)}
	if f.EndTime.IsZero() {
		end.Ended = f.CompletionTime.UTC()
	}
	switch f.Condition {
	case batchv1.JobComplete:
		end.Result, end.ResultReason = ledger.Complete, ""
	case JobDeleted:
		end.Result = ledger.Deleted
	}
	return end
}

// conclude puts the end of a run into its row, or keeps it for a row that is still to be written.
func (s *State) conclude(job Finished) {
	for i := range s.Recovered {
		if sameRun(s.Recovered[i].Run, job.Run) && s.Recovered[i].Finished == nil {
			s.Recovered[i].Finished = &job
		}
	}
	s.Ledger = s.Ledger.Conclude(job.Run.Name, job.end())
}

// count counts the end of a run once: when it is no longer active.
func (s *State) count(job Finished) {
	if job.Condition == batchv1.JobComplete {
		s.ConsecutiveFailures = 0
		return
	}
	s.ConsecutiveFailures++
	s.LastFailure = times.Later(s.LastFailure, job.end().Ended)
}

// replace ends a run that the next one replaces.
func (s *State) replace(wanted Delete, now time.Time) {
	run := Run{Name: wanted.Name, UID: wanted.UID}
	s.Active = slices.DeleteFunc(s.Active, func(other Run) bool { return sameRun(other, run) })
	s.conclude(Finished{Run: run, Condition: JobDeleted, EndTime: now, Reason: ledger.ResultReasonReplaced})
}
