package schedule

import (
	"cmp"
	"slices"
	"time"
)

// triggerAttempts is how often the Job of a manual run, or of a run that others wait for, is tried; with the back-off
// that is about fifteen minutes.
const triggerAttempts = 8

// Report says what came of a Plan.
type Report struct {
	// Started is the run's Job.
	Started *Run
	// Refusal and Message are the API server's answer when there is no Job; Status was then not applied.
	Refusal string
	Message string
	// StatusFailed is why the status was not written; empty when it was.
	StatusFailed string
	// StatusLeft says that it was not to be written: a run that was to be replaced had ended.
	StatusLeft bool
	// Deleted names the Jobs that were deleted or already gone.
	Deleted []string
	// Judgement is the answer to Judge; nil if there is none.
	Judgement *Judgement
}

// Apply returns the state after a Plan was carried out as the report says.
func Apply(plan Plan, report Report, now time.Time) State {
	s, now := plan.Next.clone(), now.UTC()
	s.applyDeletes(plan.Deletes, report.Deleted, now)
	s.applyJudgement(plan, report.Judgement, now)
	switch {
	case plan.Start == nil:
	case report.Started != nil:
		s.applyStarted(*plan.Start, *report.Started, now)
		s.proveTemplate(plan, "", now)
	default:
		s.applyRefused(*plan.Start, report, now)
		if report.Refusal == Invalid {
			s.proveTemplate(plan, report.Message, now)
		}
		return s
	}
	if plan.Status != nil && !report.StatusLeft {
		status := *plan.Status
		if report.Judgement != nil {
			status = StatusJudged(status, *report.Judgement)
		}
		if plan.Start != nil {
			status = StatusStarted(status, plan.Start.run(*report.Started), s.Namespace)
		}
		// They are not compared.
		status.RecentRuns = nil
		s.Reported, s.StatusRetry = &status, Backoff{}
		if report.StatusFailed != "" {
			s.Reported, s.StatusRetry = nil, plan.Next.StatusRetry.Next(now)
		}
	}
	return s
}

// run returns the run of a start as it is remembered.
func (s Start) run(job Run) Run {
	job.Scheduled, job.Manual, job.Backfill = s.Scheduled, s.Manual, s.Backfill
	return job
}

func (s *State) applyDeletes(deletes []Delete, deleted []string, now time.Time) {
	failed, pruned := false, false
	for _, wanted := range deletes {
		run := Run{Name: wanted.Name, UID: wanted.UID}
		pruned = pruned || !wanted.Replaced
		switch done := slices.Contains(deleted, wanted.Name); {
		case done && wanted.Replaced:
			s.Active = slices.DeleteFunc(s.Active, func(other Run) bool { return sameRun(other, run) })
			s.conclude(wanted.replaced(now))
		case done:
			s.Finished = slices.DeleteFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, run) })
		case !wanted.Replaced:
			failed = true
		}
	}
	switch {
	case failed:
		s.Prune = s.Prune.Next(now)
	case pruned:
		s.Prune = Backoff{}
	}
}

func (s *State) applyStarted(start Start, job Run, now time.Time) {
	run := start.run(job)
	if s.activeIndex(run) < 0 {
		s.Active = append(s.Active, run)
	}
	if start.Backfill != 0 {
		s.settleBackfilled(start.Backfill, start.Scheduled)
		if !s.hasRow(run) {
			s.record(start.entry(run, now))
		}
		return
	}
	if start.Manual {
		if index := s.triggerIndex(start); index >= 0 {
			s.Triggers = slices.Delete(s.Triggers, index, index+1)
		}
		s.record(start.entry(run, now))
		return
	}
	s.LastScheduled = later(s.LastScheduled, start.Scheduled)
	s.settle(start.entry(run, now))
}

func (s *State) applyRefused(start Start, report Report, now time.Time) {
	reason := cmp.Or(report.Refusal, RefusedOtherwise)
	if report.Refusal == TooLate && s.Pending != nil {
		// The next plan settles the run, or waits a little if the activity's clock is ahead of ours.
		s.Pending.Retry = s.Pending.Retry.Next(now)
		return
	}
	if !start.Manual {
		s.Pending = &Pending{Scheduled: start.Scheduled, Refused: Refused{
			Reason: reason, Message: report.Message, Retry: s.Pending.Retry.Next(now),
		}}
		if len(s.Calendar.Waiting) > 0 && s.Pending.Retry.Attempts >= triggerAttempts {
			// Others must not wait for it for ever.
			s.settle(LedgerEntry{Scheduled: start.Scheduled, Recorded: now, Outcome: FailedToCreate, Reason: reason, Message: report.Message})
		}
		return
	}
	if start.Backfill != 0 {
		s.refuseBackfilled(start, Refused{Reason: reason, Message: report.Message}, now)
		return
	}
	index := s.triggerIndex(start)
	if index < 0 {
		return
	}
	trigger := &s.Triggers[index]
	trigger.Refused = Refused{Reason: reason, Message: report.Message, Retry: trigger.Retry.Next(now)}
	if trigger.Retry.Attempts >= triggerAttempts || report.Refusal == SignalRefused {
		entry := trigger.entry(FailedToCreate, reason, now)
		entry.Message = report.Message
		s.Triggers = slices.Delete(s.Triggers, index, index+1)
		s.record(entry)
	}
}
