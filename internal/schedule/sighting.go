package schedule

import (
	"cmp"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
)

// Sighting is a Job of the CronJob that the state did not know: made by the workflow before, or by somebody else.
type Sighting struct {
	Run Run `json:"run"`
	// Finished is how the Job has ended; nil while it runs.
	Finished *Finished `json:"finished,omitempty"`
	// Taken is set once it is among the active or finished runs, and its scheduled time is not settled yet.
	Taken bool `json:"taken,omitempty"`
}

// Found returns the state after Jobs of the CronJob were looked up, those that are known included.
func Found(state State, jobs []Sighting) State {
	s := state.clone()
	for _, job := range jobs {
		job.Taken = false
		if !s.Knows(job.Run) && len(s.Sighted) < maxRuns {
			s.Sighted = append(s.Sighted, job)
			if run := job.Run; !run.Manual && !run.Scheduled.After(s.Settled) {
				s.LastScheduled = later(s.LastScheduled, run.Scheduled)
			}
		}
	}
	s.setApart()
	slices.SortStableFunc(s.Sighted, func(a, b Sighting) int { return a.Run.Scheduled.Compare(b.Run.Scheduled) })
	return s
}

// setApart forgets the times without an outcome, to be computed anew, if a Job was found for one inside a stretch.
func (s *State) setApart() {
	if !slices.ContainsFunc(s.Sighted, func(sighting Sighting) bool {
		return slices.ContainsFunc(s.Calendar.Missed, func(stretch MissedRuns) bool {
			return stretch.Count > 1 && stretch.entry(LedgerEntry{}).covers(sighting.Run.Scheduled)
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
		slices.ContainsFunc(s.Sighted, func(other Sighting) bool { return sameRun(other.Run, run) })
}

// takeSighted takes in the Jobs that were found: from now on they count for concurrency and history limits.
func (s *State) takeSighted(spec Spec, now time.Time) {
	sighted := s.Sighted
	s.Sighted = nil
	for _, sighting := range sighted {
		run := sighting.Run
		asked, expected := s.askedFor(&run)
		if !sighting.Taken {
			s.Active = append(s.Active, run)
			if !s.waits(run) && !expected {
				s.Outbox = append(s.Outbox, event.Warning("UnexpectedJob",
					"Saw a job that the controller did not create or forgot: "+run.Name))
			}
			if sighting.Finished != nil {
				s.finish(*sighting.Finished, spec.HistoryLimit(sighting.Finished.Condition) > 0)
			}
		}
		if run.Manual {
			if !s.hasRow(run) {
				entry := s.found(sighting, now)
				entry.Message, entry.Asked, entry.Sequence = cmp.Or(entry.Message, asked.Note), asked.Asked, asked.Sequence
				s.record(entry)
			}
			continue
		}
		sighting.Taken = true
		s.Sighted = append(s.Sighted, sighting)
	}
}

// sighted returns the Job that was found for a single missed time.
func (s *State) sighted(stretch MissedRuns) *Sighting {
	return firstOf(s.Sighted, func(sighting Sighting) bool {
		return stretch.Count == 1 && sighting.Run.Scheduled.Equal(stretch.First)
	})
}

// settleSighted records the start of the Jobs that were found whose times are settled.
func (s *State) settleSighted(now time.Time) {
	s.Sighted = slices.DeleteFunc(s.Sighted, func(sighting Sighting) bool {
		switch run := sighting.Run; {
		case s.waits(run):
			s.settle(s.found(sighting, now))
		case run.Scheduled.After(s.Settled):
			return false
		default:
			s.correct(s.found(sighting, now))
		}
		s.LastScheduled = later(s.LastScheduled, sighting.Run.Scheduled)
		return true
	})
}

// found returns the outcome of a run whose Job was found.
func (s *State) found(sighting Sighting, now time.Time) LedgerEntry {
	run := sighting.Run
	start := Start{Scheduled: run.Scheduled, Manual: run.Manual, Backfill: run.Backfill}
	if run.Backfill != 0 {
		start.Note = backfillNote("")
	}
	switch {
	case run.Started.IsZero():
		// Nobody knows that it was late.
		run.Started = run.Scheduled
	case run.Manual:
		start.WhyLate = ReasonFoundLater
	default:
		start.WhyLate, start.LateMessage = s.whyLate(run.Scheduled, ReasonFoundLater)
	}
	entry := start.entry(run, now)
	if sighting.Finished != nil {
		entry = entry.ended(*sighting.Finished)
	}
	return entry
}

// hasRow reports whether the ledger has the run's Job.
func (s *State) hasRow(run Run) bool {
	return slices.ContainsFunc(s.Ledger, func(entry LedgerEntry) bool {
		return entry.Outcome.HasJob() && entry.Job == run.Name
	})
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
	return Trigger{Asked: Asked{By: run.By, Through: ThroughJob, Changed: run.Changed}}, false
}

// correct amends the ledger for a run that did start although it was recorded as skipped. A time inside a merged row is
// removed from that and gets its own row after it.
func (s *State) correct(started LedgerEntry) {
	if s.hasRow(Run{Name: started.Job}) {
		return
	}
	index := -1
	for i, entry := range s.Ledger {
		// A stretch may have others between its times.
		if !entry.Manual && entry.covers(started.Scheduled) && (index < 0 || entry.Times() == 1) {
			index = i
		}
	}
	if index >= 0 {
		switch entry := &s.Ledger[index]; {
		case entry.Outcome.HasJob():
			return
		case entry.Times() == 1:
			*entry = started
			s.tally(started)
			return
		default:
			entry.without(started.Scheduled)
		}
	}
	at := max(index, 0)
	for at < len(s.Ledger) && (s.Ledger[at].Manual || !s.Ledger[at].Scheduled.After(started.Scheduled)) {
		at++
	}
	s.Ledger = slices.Insert(s.Ledger, at, started)
	s.tally(started)
	s.boundLedger()
}

// without takes a time out of a stretch.
func (e *LedgerEntry) without(at time.Time) {
	e.Count--
	if e.Count > 1 {
		// Which time is the first or the last now is not known.
		e.Estimated = e.Estimated || at.Equal(e.Scheduled) || at.Equal(e.Until)
		return
	}
	e.Count = 0
	if at.Equal(e.Scheduled) {
		e.Scheduled = e.Until
	}
	e.Until = time.Time{}
}
