package schedule

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// entry returns the outcome of each time of the stretch.
func (m MissedRuns) entry(outcome ledger.Entry) ledger.Entry {
	outcome.Scheduled, outcome.Until, outcome.Count, outcome.Estimated = m.First, time.Time{}, 0, m.Estimated
	if m.Last.After(m.First) {
		outcome.Until, outcome.Count = m.Last, m.Count
	}
	return outcome
}

// record appends an outcome.
func (p *pass) record(entry ledger.Entry) { p.state.Ledger = p.state.Ledger.Record(entry, p.open) }

// open reports whether a time between two entries waits, or is missed and not settled.
func (p *pass) open(former, next ledger.Entry) bool {
	gap := ledger.Entry{Scheduled: former.Scheduled, Until: next.Last()}
	return slices.ContainsFunc(p.state.queue(), func(scheduled time.Time) bool {
		return gap.Covers(scheduled) && !next.Covers(scheduled) && !former.Covers(scheduled)
	}) || slices.ContainsFunc(p.state.Calendar.Missed, func(missed MissedRuns) bool {
		return missed.Last.After(gap.Scheduled) && missed.First.Before(gap.Until)
	})
}

// recordOutcome records the outcome of a scheduled time, whose run is then no longer due.
func (p *pass) recordOutcome(entry ledger.Entry) {
	p.record(entry)
	p.state.Settled = times.Later(p.state.Settled, entry.Last())
	if p.state.Pending != nil && entry.Covers(p.state.Pending.Scheduled) {
		p.state.Pending = nil
	}
	p.setQueue(slices.DeleteFunc(p.state.queue(), entry.Covers))
}

// settleMissed gives missed times their outcome.
func (p *pass) settleMissed() {
	missed := p.state.Calendar.Missed
	p.state.Calendar.Missed = nil
	slices.SortStableFunc(missed, MissedRuns.compare)
	for _, stretch := range missed {
		if stretch.Count == 1 && p.state.holds(stretch.First) {
			p.missAll([]time.Time{stretch.First}, stretch.Reason)
			p.setQueue(append([]time.Time{stretch.First}, slices.DeleteFunc(p.state.queue(), stretch.First.Equal)...))
			continue
		}
		if recovered := p.state.recoveredFor(stretch); recovered != nil {
			p.recordOutcome(p.found(*recovered))
			continue
		}
		p.recordOutcome(stretch.entry(p.notStarted(stretch)))
	}
}

// notStarted returns the outcome of scheduled times whose runs will not start any more.
func (p *pass) notStarted(stretch MissedRuns) ledger.Entry {
	scheduled := stretch.Last
	entry := ledger.Entry{Scheduled: scheduled, Recorded: p.now, Outcome: ledger.SkippedSuperseded, Reason: ledger.ReasonOutage}
	delay, late := p.state.delay(scheduled), tooLate(p.spec, scheduled, p.now)
	switch {
	case stretch.Reason == ledger.ReasonScheduleChanged && !p.state.Suspension.covers(scheduled):
		entry.Reason = stretch.Reason
	case delay.Reason != "":
		entry.Outcome, entry.Reason, entry.Message = ledger.FailedToCreate, delay.Reason, delay.Message
	case stretch.Reason == ledger.ReasonQueueFull:
		entry.Outcome, entry.Reason = ledger.SkippedOverlap, stretch.Reason
	case delay.Blocked && !(late && p.spec.inOrder()):
		entry.Outcome, entry.Reason = ledger.SkippedOverlap, ledger.ReasonJobAlreadyActive
	case p.state.Suspension.covers(scheduled):
		entry.Outcome, entry.Reason = ledger.SkippedSuspended, ledger.ReasonSuspended
	case late:
		entry.Outcome, entry.Reason = ledger.SkippedDeadline, ledger.ReasonStartingDeadlineExceeded
	case stretch.Reason == ledger.ReasonJobAlreadyActive:
		entry.Outcome, entry.Reason = ledger.SkippedOverlap, stretch.Reason
	case stretch.Reason == ledger.ReasonNotCaughtUp:
		entry.Outcome, entry.Reason = ledger.SkippedDeadline, stretch.Reason
	case stretch.Reason != "":
		entry.Reason = stretch.Reason
	}
	return entry
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
	entry := s.row(ledger.Started, "", s.Note, cmp.Or(job.Started.UTC(), now))
	entry.Job = job.Name
	if s.Backfill != 0 {
		// It was not expected in time.
		return entry.Bounded()
	}
	if entry.Recorded.Sub(s.Scheduled) > lateAfter {
		entry.Outcome, entry.Reason = ledger.StartedLate, s.WhyLate
		if s.LateMessage != "" {
			entry.Message = s.LateMessage
		}
	}
	return entry.Bounded()
}

// whyLate says what holds up a run, should it start late; otherwise if nothing is known.
func (p *pass) whyLate(due time.Time, otherwise string) (reason, message string) {
	reason, message = p.state.delay(due).why()
	caughtUp := !due.After(p.state.Calendar.CaughtUp)
	switch {
	case reason == ledger.ReasonFailedCreate:
		return reason, message
	case !caughtUp && (reason != "" || !due.After(p.state.Calendar.Announced)):
		return ledger.ReasonJobAlreadyActive, ""
	case p.state.Suspension.covers(due):
		return ledger.ReasonSuspended, ""
	case caughtUp:
		return ledger.ReasonOutage, ""
	}
	return otherwise, ""
}

// Tallied returns how many scheduled times got which outcome since the last call, and the state without these counts.
func Tallied(state State) (rest State, tallies []ledger.Tally) {
	state.Ledger, tallies = state.Ledger.Tallied()
	return state, tallies
}

// end returns the end of the run.
func (f Finished) end() ledger.End {
	end := ledger.End{
		Result: ledger.Failed, ResultReason: f.Reason, Stopped: f.Stopped, Ended: cmp.Or(f.EndTime.UTC(), f.CompletionTime.UTC()), FailedAttempts: max(f.FailedPods, 0),
	}
	switch f.Condition {
	case batchv1.JobComplete:
		end.Result, end.ResultReason, end.Stopped = ledger.Complete, "", ""
	case JobDeleted:
		end.Result = ledger.Deleted
	}
	return end
}

// conclude puts the end of a run into its row, or keeps it for a row that is still to be written.
func (p *pass) conclude(job Finished) {
	for i := range p.state.Recovered {
		if sameRun(p.state.Recovered[i].Run, job.Run) && p.state.Recovered[i].Finished == nil {
			p.state.Recovered[i].Finished = &job
		}
	}
	p.state.Ledger = p.state.Ledger.Conclude(job.Run.Name, job.end())
}

// count counts the end of a run once: when it is no longer active. One that a person has stopped has not failed by itself: it is none
// of the failures in a row, and does not end them.
func (p *pass) count(job Finished) {
	if job.Condition == batchv1.JobComplete {
		p.state.ConsecutiveFailures = 0
		return
	}
	if job.Reason != event.Stopped {
		p.state.ConsecutiveFailures++
	}
	p.state.LastFailure = times.Later(p.state.LastFailure, job.end().Ended)
}

// replace ends a run that the next one replaces.
func (p *pass) replace(wanted Delete) {
	run := Run{Name: wanted.Name, UID: wanted.UID}
	p.state.Active = slices.DeleteFunc(p.state.Active, func(other Run) bool { return sameRun(other, run) })
	p.conclude(Finished{Run: run, Condition: JobDeleted, EndTime: p.now, Reason: ledger.ResultReasonReplaced})
}
