package schedule

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// end is how a run has ended, as the ledger has it.
type end struct {
	result   RunResult
	reason   string
	at       time.Time
	attempts int32
}

// end returns how the Job has ended.
func (f Finished) end() end {
	at := f.EndTime
	if at.IsZero() {
		at = f.CompletionTime
	}
	result := end{result: RunComplete, at: at.UTC(), attempts: f.FailedPods}
	if f.Condition != batchv1.JobComplete {
		result.result, result.reason = RunFailed, f.Reason
	}
	return result
}

// ended returns the entry with the end of its run. An end that is known stays, but that
// a Job is gone says less than how it had ended.
func (e LedgerEntry) ended(end end) LedgerEntry {
	if !e.Outcome.HasJob() || e.Result != "" && (e.Result != RunDeleted || end.result == RunDeleted) {
		return e
	}
	e.Result, e.ResultReason, e.Ended, e.FailedAttempts = end.result, end.reason, end.at, max(end.attempts, 0)
	return e.bounded()
}

// conclude puts the end of a run into its row.
func (s *State) conclude(run Run, end end) {
	for i := len(s.Ledger) - 1; i >= 0; i-- {
		if entry := s.Ledger[i]; entry.Outcome.HasJob() && entry.Job == run.Name {
			s.Ledger[i] = entry.ended(end)
			return
		}
	}
}

// concludeSighted keeps the end of a run whose row is still to be written.
func (s *State) concludeSighted(finished Finished) {
	for i := range s.Sighted {
		if sameRun(s.Sighted[i].Run, finished.Run) && s.Sighted[i].Finished == nil {
			s.Sighted[i].Finished = &finished
		}
	}
}

// count counts the end of a run once: when it is active no longer.
func (s *State) count(end end) {
	switch end.result {
	case RunComplete:
		s.ConsecutiveFailures = 0
	case RunFailed:
		s.ConsecutiveFailures++
		s.LastFailure = later(s.LastFailure, end.at)
	}
}

// withoutReplaced returns the ledger as it is once the runs are replaced.
func withoutReplaced(ledger []LedgerEntry, deletes []Delete, now time.Time) []LedgerEntry {
	if !slices.ContainsFunc(deletes, func(d Delete) bool { return d.Replaced }) {
		return ledger
	}
	after := State{Ledger: slices.Clone(ledger)}
	for _, wanted := range deletes {
		if wanted.Replaced {
			after.conclude(Run{Name: wanted.Name}, replaced(now))
		}
	}
	return after.Ledger
}

func replaced(now time.Time) end {
	return end{result: RunDeleted, reason: ResultReasonReplaced, at: now}
}
