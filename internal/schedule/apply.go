package schedule

import (
	"cmp"
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// triggerAttempts bounds the tries of a manual run, or of one that others wait for: about 15 minutes with the back-off.
const triggerAttempts = 8

// Report is the result of a Plan.
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
		if report.Refusal == ledger.Invalid {
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
			s.replace(wanted, now)
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
	switch {
	case start.Backfill != 0:
		s.settleBackfilled(start.Backfill, start.Scheduled)
		if !s.Ledger.Has(run.Name) {
			s.record(start.entry(run, now))
		}
	case start.Manual:
		s.dropTrigger(start.Sequence)
		s.record(start.entry(run, now))
	default:
		s.LastScheduled = times.Later(s.LastScheduled, start.Scheduled)
		s.settle(start.entry(run, now))
	}
}

// applyRefused takes in that a run's Job was refused. A run that others wait for, or that somebody asked for, is given
// up after some attempts; all times of a backfill are if the object takes none.
func (s *State) applyRefused(start Start, report Report, now time.Time) {
	var delay *Delay
	trigger, backfill := s.trigger(start.Sequence), s.backfill(start.Backfill)
	switch {
	case !start.Manual:
		delay = &s.Pending.Delay
	case backfill != nil:
		delay = &backfill.Delay
	case start.Backfill == 0 && trigger != nil:
		delay = &trigger.Delay
	default:
		return
	}
	if report.Refusal == ledger.TooLate {
		// The next plan settles the run, or waits a little if the activity's clock is ahead of ours.
		delay.Retry = delay.Retry.Next(now)
		return
	}
	*delay = Delay{Reason: cmp.Or(report.Refusal, ledger.RefusedOtherwise), Message: report.Message, Retry: delay.Retry.Next(now)}
	row, never := start.row(ledger.FailedToCreate, delay.Reason, delay.Message, now), start.Manual && report.Refusal == ledger.SignalRefused
	switch {
	case delay.Retry.Attempts < triggerAttempts && !never:
	case !start.Manual:
		if len(s.Calendar.Waiting) > 0 {
			s.settle(row)
		}
	case backfill == nil:
		s.dropTrigger(start.Sequence)
		s.record(row)
	case never:
		s.record(backfill.entry(ledger.FailedToCreate, row.Reason, row.Message, now))
		s.dropBackfill(start.Backfill)
	default:
		s.record(row)
		s.settleBackfilled(start.Backfill, start.Scheduled)
	}
}
