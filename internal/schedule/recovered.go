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

// RecoveredJob is a Job of the CronJob that the state did not know: made by an earlier workflow, or by another client.
type RecoveredJob struct {
	Run Run `json:"run"`
	// Finished is how the Job has ended; nil while it runs.
	Finished *Finished `json:"finished,omitempty"`
	// Taken is set once it is among the active or finished runs, and its scheduled time is not settled yet.
	Taken bool `json:"taken,omitempty"`
}

// RecoverJobs returns the state after Jobs of the CronJob were looked up, those that are known included.
func RecoverJobs(state State, jobs []RecoveredJob) State {
	p := begin(state, Spec{}, time.Time{})
	for _, job := range jobs {
		job.Taken = false
		if !p.state.Knows(job.Run) && len(p.state.Recovered) < maxRuns {
			p.state.Recovered = append(p.state.Recovered, job)
		}
	}
	slices.SortStableFunc(p.state.Recovered, func(a, b RecoveredJob) int { return a.Run.Scheduled.Compare(b.Run.Scheduled) })
	return p.state
}

// BelieveCallers returns the state after an activity that believes names.CallerHeader has looked for Jobs. It may have found that of a
// trigger whose create has had no answer.
func BelieveCallers(state State) State {
	p := begin(state, Spec{}, time.Time{})
	for index := range p.state.Triggers {
		if trigger := &p.state.Triggers[index]; !trigger.Unclear.IsZero() {
			trigger.User = cmp.Or(trigger.User, trigger.Caller)
		}
	}
	return p.state
}

// Knows reports whether the state knows the run's Job.
func (s State) Knows(run Run) bool {
	return s.activeIndex(run) >= 0 ||
		slices.ContainsFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, run) }) ||
		slices.ContainsFunc(s.Recovered, func(other RecoveredJob) bool { return sameRun(other.Run, run) })
}

// adoptRecovered takes in the Jobs that were found: from now on they count for concurrency and history limits.
func (p *pass) adoptRecovered() {
	jobs := p.state.Recovered
	p.state.Recovered = nil
	for _, recovered := range jobs {
		run := recovered.Run
		// What waits for the run is forgotten below.
		run.Unclear = times.Later(times.Later(run.Unclear, p.state.Unsure), p.state.unclearUntil(run))
		asked, expected := p.askedFor(&run)
		if !recovered.Taken {
			p.state.Active = append(p.state.Active, run)
			p.state.Reported = nil // Its row alone is worth a write: where it has ended, nothing else may change.
			if !p.state.waits(run) && !expected {
				p.emit(event.Warning("UnexpectedJob", "Saw a job that the controller did not create or forgot: "+run.Name))
			}
			if recovered.Finished != nil {
				p.finish(*recovered.Finished, p.spec.HistoryLimit(recovered.Finished.Condition) > 0)
			}
		}
		switch {
		case !run.Manual:
			recovered.Taken = true
			p.state.Recovered = append(p.state.Recovered, recovered)
		case !p.state.Ledger.Has(run.Name):
			recovered.Run.Backfill = run.Backfill
			entry := p.found(recovered)
			entry.Message, entry.Asked, entry.Sequence = cmp.Or(entry.Message, asked.Note), asked.Asked, asked.Sequence
			p.record(entry)
		}
	}
}

// recoveredFor returns the Job that was found for a single missed time.
func (s State) recoveredFor(stretch MissedRuns) *RecoveredJob {
	return firstOf(s.Recovered, func(recovered RecoveredJob) bool {
		return stretch.Count == 1 && recovered.Run.Scheduled.Equal(stretch.First)
	})
}

// recordRecovered records the start of the Jobs that were found whose times are settled.
func (p *pass) recordRecovered() {
	p.state.Recovered = slices.DeleteFunc(p.state.Recovered, func(recovered RecoveredJob) bool {
		switch run := recovered.Run; {
		case p.state.waits(run):
			p.recordOutcome(p.found(recovered))
		case run.Scheduled.After(p.state.Settled):
			return false
		case !p.state.Ledger.Has(run.Name):
			p.state.Ledger = p.state.Ledger.Without(run.Scheduled)
			p.record(p.found(recovered))
		}
		p.state.LastScheduled = times.Later(p.state.LastScheduled, recovered.Run.Scheduled)
		return true
	})
}

// found returns the outcome of a run whose Job was found.
func (p *pass) found(recovered RecoveredJob) ledger.Entry {
	run := recovered.Run
	start := Start{Scheduled: run.Scheduled, Manual: run.Manual, Backfill: run.Backfill}
	start.WhyLate = ledger.ReasonFoundLater
	if !run.Manual {
		start.WhyLate, start.LateMessage = p.whyLate(run.Scheduled, ledger.ReasonFoundLater)
	}
	entry := start.entry(run, p.now)
	if recovered.Finished != nil {
		entry = entry.WithEnd(recovered.Finished.end())
	}
	return entry
}

// waits reports whether the run is due, or one of those that start after that.
func (s State) waits(run Run) bool {
	return !run.Manual && slices.ContainsFunc(s.queue(), run.Scheduled.Equal)
}

// askedFor returns the trigger or backfill whose Job the run is, without a number if it is neither's. What waits for
// the run waits no longer: it was expected. The API server may know that a person has made the Job, whatever its name is.
func (p *pass) askedFor(run *Run) (asked Trigger, expected bool) {
	byHand := Trigger{TriggerRequest: TriggerRequest{Asked: ledger.Asked{By: run.By, User: run.User, Through: ledger.ThroughJob, Changed: run.Changed}}}
	if run.Through == ledger.ThroughJob {
		return byHand, false
	}
	for index, trigger := range p.state.Triggers {
		if run.Manual && names.TriggeredJob(p.state.Name, p.state.UID, trigger.Sequence) == run.Name {
			p.state.Triggers = slices.Delete(p.state.Triggers, index, index+1)
			return trigger, true
		}
	}
	for _, backfill := range p.state.Backfills {
		if run.Manual && names.BackfilledJob(p.state.Name, p.state.UID, backfill.Sequence, run.Scheduled) == run.Name {
			if expected = p.settleBackfilled(backfill.Sequence, run.Scheduled); expected {
				run.Backfill = backfill.Sequence
			}
			return Trigger{Sequence: backfill.Sequence, TriggerRequest: TriggerRequest{Note: backfillNote(backfill.Note), Asked: backfill.Asked}}, expected
		}
	}
	return byHand, false
}
