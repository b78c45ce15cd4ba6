package schedule

import (
	"cmp"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

// RecoveredJob is a Job of the CronJob that the state did not know: made by the workflow before, or by somebody else.
type RecoveredJob struct {
	Run Run `json:"run"`
	// Finished is how the Job has ended; nil while it runs.
	Finished *Finished `json:"finished,omitempty"`
	// Taken is set once it is among the active or finished runs, and its scheduled time is not settled yet.
	Taken bool `json:"taken,omitempty"`
}

// RecoverJobs returns the state after Jobs of the CronJob were looked up, those that are known included.
func RecoverJobs(state State, jobs []RecoveredJob) State {
	s := state.clone()
	for _, job := range jobs {
		job.Taken = false
		if !s.Knows(job.Run) && len(s.Recovered) < maxRuns {
			s.Recovered = append(s.Recovered, job)
			if run := job.Run; !run.Manual && !run.Scheduled.After(s.Settled) {
				s.LastScheduled = times.Later(s.LastScheduled, run.Scheduled)
			}
		}
	}
	s.setApart()
	slices.SortStableFunc(s.Recovered, func(a, b RecoveredJob) int { return a.Run.Scheduled.Compare(b.Run.Scheduled) })
	return s
}

// setApart forgets the times without an outcome, to be computed anew, if a Job was found for one inside a stretch.
func (s *State) setApart() {
	if !slices.ContainsFunc(s.Recovered, func(recovered RecoveredJob) bool {
		return slices.ContainsFunc(s.Calendar.Missed, func(stretch MissedRuns) bool {
			return stretch.Count > 1 && stretch.entry(ledger.Entry{}).Covers(recovered.Run.Scheduled)
		})
	}) {
		return
	}
	from := s.Calendar.Missed[0].First
	s.Calendar.Missed, s.Calendar.Upcoming = nil, nil
	if s.Calendar.Problem != nil {
		s.Calendar.Recheck = from
	}
	for _, scheduled := range s.queue() {
		if !scheduled.Before(from) {
			s.takeOut(scheduled)
		}
	}
}

// Knows reports whether the state knows the run's Job.
func (s State) Knows(run Run) bool {
	return s.activeIndex(run) >= 0 ||
		slices.ContainsFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, run) }) ||
		slices.ContainsFunc(s.Recovered, func(other RecoveredJob) bool { return sameRun(other.Run, run) })
}

// adoptRecovered takes in the Jobs that were found: from now on they count for concurrency and history limits.
func (s *State) adoptRecovered(spec Spec, now time.Time) {
	jobs := s.Recovered
	s.Recovered = nil
	for _, recovered := range jobs {
		run := recovered.Run
		asked, expected := s.askedFor(&run)
		if !recovered.Taken {
			s.Active = append(s.Active, run)
			if !s.waits(run) && !expected {
				s.Outbox = append(s.Outbox, event.Warning("UnexpectedJob",
					"Saw a job that the controller did not create or forgot: "+run.Name))
			}
			if recovered.Finished != nil {
				s.finish(*recovered.Finished, spec.HistoryLimit(recovered.Finished.Condition) > 0)
			}
		}
		if run.Manual {
			if !s.Ledger.Has(run.Name) {
				entry := s.found(recovered, now)
				entry.Message, entry.Asked, entry.Sequence = cmp.Or(entry.Message, asked.Note), asked.Asked, asked.Sequence
				s.record(entry)
			}
			continue
		}
		recovered.Taken = true
		s.Recovered = append(s.Recovered, recovered)
	}
}

// recoveredFor returns the Job that was found for a single missed time.
func (s *State) recoveredFor(stretch MissedRuns) *RecoveredJob {
	return firstOf(s.Recovered, func(recovered RecoveredJob) bool {
		return stretch.Count == 1 && recovered.Run.Scheduled.Equal(stretch.First)
	})
}

// recordRecovered records the start of the Jobs that were found whose times are settled.
func (s *State) recordRecovered(now time.Time) {
	s.Recovered = slices.DeleteFunc(s.Recovered, func(recovered RecoveredJob) bool {
		switch run := recovered.Run; {
		case s.waits(run):
			s.settle(s.found(recovered, now))
		case run.Scheduled.After(s.Settled):
			return false
		default:
			s.Ledger = s.Ledger.Amend(s.found(recovered, now))
		}
		s.LastScheduled = times.Later(s.LastScheduled, recovered.Run.Scheduled)
		return true
	})
}

// found returns the outcome of a run whose Job was found.
func (s *State) found(recovered RecoveredJob, now time.Time) ledger.Entry {
	run := recovered.Run
	start := Start{Scheduled: run.Scheduled, Manual: run.Manual, Backfill: run.Backfill}
	if run.Backfill != 0 {
		start.Note = backfillNote("")
	}
	switch {
	case run.Started.IsZero():
		// Nobody knows that it was late.
		run.Started = run.Scheduled
	case run.Manual:
		start.WhyLate = ledger.ReasonFoundLater
	default:
		start.WhyLate, start.LateMessage = s.whyLate(run.Scheduled, ledger.ReasonFoundLater)
	}
	entry := start.entry(run, now)
	if recovered.Finished != nil {
		entry = entry.WithEnd(recovered.Finished.end())
	}
	return entry
}

// waits reports whether the run is due, or one of those that start after that.
func (s *State) waits(run Run) bool {
	return !run.Manual && slices.ContainsFunc(s.queue(), run.Scheduled.Equal)
}

// askedFor returns the trigger or backfill whose Job the run is, without a number if it is neither's. What waits for
// the run waits no longer: it was expected.
func (s *State) askedFor(run *Run) (asked Trigger, expected bool) {
	for index, trigger := range s.Triggers {
		if run.Manual && names.TriggeredJob(s.Name, s.UID, trigger.Sequence) == run.Name {
			s.Triggers = slices.Delete(s.Triggers, index, index+1)
			return trigger, true
		}
	}
	for _, backfill := range s.Backfills {
		if run.Manual && names.BackfilledJob(s.Name, s.UID, backfill.Sequence, run.Scheduled) == run.Name {
			if expected = s.settleBackfilled(backfill.Sequence, run.Scheduled); expected {
				run.Backfill = backfill.Sequence
			}
			return Trigger{Sequence: backfill.Sequence, Asked: backfill.Asked}, expected
		}
	}
	return Trigger{Asked: ledger.Asked{By: run.By, Through: ledger.ThroughJob, Changed: run.Changed}}, false
}
