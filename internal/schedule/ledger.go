package schedule

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/times"
)

// LedgerEntry is the recorded outcome of one scheduled time, of one manual trigger, or of a stretch of scheduled times
// that share an outcome and reason.
type LedgerEntry struct {
	// Scheduled is the scheduled time; of a stretch the first; of a manual run the time of the trigger, or that which a
	// backfill runs.
	Scheduled time.Time `json:"scheduled"`
	// Until is the last scheduled time of a stretch; zero otherwise.
	Until time.Time `json:"until,omitzero"`
	// Count is the number of scheduled times; 0 means 1.
	Count int64 `json:"count,omitempty"`
	// Estimated is set when Count is an estimate, since the stretch was too long to walk, or when Scheduled and Until
	// are, since a time of the stretch has started after all.
	Estimated bool `json:"estimated,omitempty"`
	// Recorded is when the outcome was known; of a started run when its Job was created.
	Recorded time.Time `json:"recorded,omitzero"`
	// Outcome is what became of it.
	Outcome LedgerOutcome `json:"outcome"`
	// Reason is one of LedgerReasons; empty for Started.
	Reason string `json:"reason,omitempty"`
	// Message adds detail for people.
	Message string `json:"message,omitempty"`
	// Job is the name of the run's Job.
	Job string `json:"job,omitempty"`
	// Manual marks the outcome of a trigger, or of what was to be backfilled.
	Manual bool `json:"manual,omitempty"`
	// Asked says who has asked for a manual run, Sequence is the number of the trigger or backfill.
	Asked
	Sequence int64 `json:"sequence,omitempty"`
	// Result is how the run has ended; empty while it runs.
	Result RunResult `json:"result,omitempty"`
	// ResultReason is that of the Job's condition Failed, such as BackoffLimitExceeded.
	ResultReason string `json:"resultReason,omitempty"`
	// Ended is when it ended.
	Ended time.Time `json:"ended,omitzero"`
	// FailedAttempts is the number of Pods that failed.
	FailedAttempts int32 `json:"failedAttempts,omitempty"`
}

const (
	// ledgerLimit bounds State.Ledger; older entries fall out.
	ledgerLimit = 300
	// maxMessage bounds the texts of an entry, in bytes.
	maxMessage = 256
	// lateAfter is how long after its scheduled time a run may start and not be late.
	lateAfter = time.Minute
)

// entry returns the outcome of each time of the stretch.
func (m MissedRuns) entry(outcome LedgerEntry) LedgerEntry {
	outcome.Scheduled, outcome.Until, outcome.Count, outcome.Estimated = m.First, time.Time{}, 0, m.Estimated
	if m.Last.After(m.First) {
		outcome.Until, outcome.Count = m.Last, m.Count
	}
	return outcome
}

// Times returns how many scheduled times the entry stands for.
func (e LedgerEntry) Times() int64 { return max(e.Count, 1) }

// Duration returns how long the run took; 0 while it runs, and where there was none.
func (e LedgerEntry) Duration() time.Duration {
	if e.Ended.IsZero() || e.Recorded.IsZero() {
		return 0
	}
	return max(e.Ended.Sub(e.Recorded), 0)
}

// Took is the Duration of a run that has ended, such as 1m30s.
func (e LedgerEntry) Took() string {
	if e.Ended.IsZero() {
		return ""
	}
	return e.Duration().Round(time.Second).String()
}

// last returns the last scheduled time of the entry.
func (e LedgerEntry) last() time.Time {
	if e.Until.IsZero() {
		return e.Scheduled
	}
	return e.Until
}

// record appends an outcome. Adjoining scheduled times that were not started for the same reason share an entry, so
// that a long blockage does not push the runs before it out of the ledger.
func (s *State) record(entry LedgerEntry) {
	entry = entry.bounded()
	s.tally(entry)
	if last := len(s.Ledger) - 1; last >= 0 && s.Ledger[last].joins(entry) && s.adjoin(s.Ledger[:last], s.Ledger[last], entry) {
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

// adjoin reports whether nothing is known, or waits, between two entries, the latter being later.
func (s *State) adjoin(others []LedgerEntry, entry, next LedgerEntry) bool {
	if !next.Scheduled.After(entry.last()) {
		return false
	}
	gap := LedgerEntry{Scheduled: entry.Scheduled, Until: next.last()}
	return !slices.ContainsFunc(s.queue(), func(scheduled time.Time) bool {
		return gap.covers(scheduled) && !next.covers(scheduled) && !entry.covers(scheduled)
	}) && !slices.ContainsFunc(s.Calendar.Missed, func(missed MissedRuns) bool {
		return missed.Last.After(gap.Scheduled) && missed.First.Before(gap.Until)
	}) && !slices.ContainsFunc(others, func(other LedgerEntry) bool {
		return !other.Manual && other.last().After(gap.Scheduled) && other.Scheduled.Before(gap.Until)
	})
}

func (s *State) boundLedger() {
	if over := len(s.Ledger) - ledgerLimit; over > 0 {
		for _, entry := range s.Ledger[:over] {
			s.Archive = s.Archive.Put(entry)
		}
		s.Ledger = append([]LedgerEntry(nil), s.Ledger[over:]...)
		s.LedgerDropped += int64(over)
		s.Archive = s.Archive.since(s.Ledger[len(s.Ledger)-1].last().Add(-archiveSpan))
	}
}

func (e LedgerEntry) joins(next LedgerEntry) bool {
	return !e.Outcome.HasJob() && e.Outcome == next.Outcome && e.Reason == next.Reason &&
		!e.Manual && !next.Manual
}

// bounded returns the entry with bounded texts. An unknown reason becomes RefusedOtherwise.
func (e LedgerEntry) bounded() LedgerEntry {
	e.Message, e.ResultReason = bounded(e.Message), bounded(e.ResultReason)
	if e.Reason != "" && !slices.Contains(LedgerReasons, e.Reason) {
		e.Reason = RefusedOtherwise
	}
	e.Outcome, e.Result, e.Job = LedgerOutcome(bounded(string(e.Outcome))), RunResult(bounded(string(e.Result))), bounded(e.Job)
	e.Asked = e.Asked.bounded()
	return e
}

func bounded(text string) string { return Truncated(text, maxMessage) }

// Truncated returns the text within a limit of bytes, with dots at the end if it was cut.
func Truncated(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}

// settle records the outcome of a scheduled time, whose run is then no longer due.
func (s *State) settle(entry LedgerEntry) {
	s.record(entry)
	s.Settled = times.Later(s.Settled, entry.last())
	if s.Pending != nil && entry.covers(s.Pending.Scheduled) {
		s.Pending = nil
	}
	for _, scheduled := range s.queue() {
		if entry.covers(scheduled) {
			s.takeOut(scheduled)
		}
	}
}

// covers reports whether the entry is about a scheduled time.
func (e LedgerEntry) covers(scheduled time.Time) bool {
	return !scheduled.Before(e.Scheduled) && !scheduled.After(e.last())
}

// row returns an outcome of the start.
func (s Start) row(outcome LedgerOutcome, reason, message string, now time.Time) LedgerEntry {
	return LedgerEntry{
		Scheduled: s.Scheduled, Recorded: now, Outcome: outcome, Reason: reason, Message: message, Manual: s.Manual,
		Asked: s.Asked, Sequence: s.Sequence,
	}
}

// entry returns the outcome of a start whose Job exists.
func (s Start) entry(job Run, now time.Time) LedgerEntry {
	entry := s.row(Started, "", s.Note, now)
	entry.Job = job.Name
	if !job.Started.IsZero() {
		entry.Recorded = job.Started.UTC()
	}
	if s.Backfill != 0 {
		// Nobody expected it in time.
		return entry.bounded()
	}
	if s.WhyLate == ReasonTimerLost || entry.Recorded.Sub(s.Scheduled) > lateAfter {
		entry.Outcome, entry.Reason = StartedLate, s.WhyLate
		if s.LateMessage != "" {
			entry.Message = s.LateMessage
		}
	}
	return entry.bounded()
}

// whyLate says what holds up a run, should it start late; otherwise if nothing is known.
func (s *State) whyLate(due time.Time, otherwise string) (reason, message string) {
	reason, message = s.delay(due).why()
	caughtUp := !due.After(s.Calendar.CaughtUp)
	switch {
	case reason == ReasonFailedCreate:
		return reason, message
	case !caughtUp && (reason != "" || !due.After(s.Calendar.Announced)):
		return ReasonJobAlreadyActive, ""
	case s.Suspension.covers(due):
		return ReasonSuspended, ""
	case caughtUp:
		return ReasonOutage, ""
	case !s.Nudged.Before(due):
		return ReasonTimerLost, ""
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

// Tally is a number of scheduled times and triggers that have got an outcome.
type Tally struct {
	Outcome LedgerOutcome
	Times   int64
}

func (s *State) tally(entry LedgerEntry) {
	for i := range s.tallies {
		if s.tallies[i].Outcome == entry.Outcome {
			s.tallies[i].Times += entry.Times()
			return
		}
	}
	s.tallies = append(s.tallies, Tally{entry.Outcome, entry.Times()})
}

// Tallied returns how many scheduled times got which outcome since the last call, and the state without these counts.
func Tallied(state State) (State, []Tally) {
	tallies := slices.Clone(state.tallies)
	state.tallies = nil
	return state, tallies
}

// ended returns the entry with the end of its run. A known end stays, except that how a Job ended says more than that
// it is gone.
func (e LedgerEntry) ended(job Finished) LedgerEntry {
	result, reason := RunFailed, job.Reason
	switch job.Condition {
	case batchv1.JobComplete:
		result, reason = RunComplete, ""
	case JobDeleted:
		result = RunDeleted
	}
	if !e.Outcome.HasJob() || e.Result != "" && (e.Result != RunDeleted || result == RunDeleted) {
		return e
	}
	e.Result, e.ResultReason, e.Ended, e.FailedAttempts = result, reason, job.ended(), max(job.FailedPods, 0)
	return e.bounded()
}

// ended is when the Job ended.
func (f Finished) ended() time.Time {
	if f.EndTime.IsZero() {
		return f.CompletionTime.UTC()
	}
	return f.EndTime.UTC()
}

// conclude puts the end of a run into its row, or keeps it for a row that is still to be written.
func (s *State) conclude(job Finished) {
	for i := range s.Recovered {
		if sameRun(s.Recovered[i].Run, job.Run) && s.Recovered[i].Finished == nil {
			s.Recovered[i].Finished = &job
		}
	}
	for i, entry := range slices.Backward(s.Ledger) {
		if entry.Outcome.HasJob() && entry.Job == job.Run.Name {
			s.Ledger[i] = entry.ended(job)
			return
		}
	}
}

// count counts the end of a run once: when it is no longer active.
func (s *State) count(job Finished) {
	if job.Condition == batchv1.JobComplete {
		s.ConsecutiveFailures = 0
		return
	}
	s.ConsecutiveFailures++
	s.LastFailure = times.Later(s.LastFailure, job.ended())
}

// replace ends a run that the next one replaces.
func (s *State) replace(wanted Delete, now time.Time) {
	run := Run{Name: wanted.Name, UID: wanted.UID}
	s.Active = slices.DeleteFunc(s.Active, func(other Run) bool { return sameRun(other, run) })
	s.conclude(Finished{Run: run, Condition: JobDeleted, EndTime: now, Reason: ResultReasonReplaced})
}
