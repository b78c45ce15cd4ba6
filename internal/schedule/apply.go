package schedule

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/ptr"

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
	// Unclear says that it is open whether there is a Job; Message is then what the API server said, and empty if it has not
	// answered. Unsent says that no create was sent.
	Unclear, Unsent bool
	// Sent says that a create may have been sent before, and had no answer.
	Sent bool
	// Missing answers Find: there is no Job.
	Missing bool
	// User is who has asked for the run, if the start's Caller is believed.
	User string
	// Suspender says who has suspended the CronJob, or resumed it if the status is the first to say so; empty where nothing tells.
	Suspender string
	// Revision is that of the status that was written; 0 where none was.
	Revision int64
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
	p := begin(plan.Next, Spec{}, now)
	p.applyDeletes(plan.Deletes, report.Deleted)
	p.applyJudgement(plan, report.Judgement)
	p.state.Ledger = p.state.Steered(report.Suspender)
	if report.Revision > 0 {
		p.state.Basis = Basis{Revision: report.Revision}
	}
	start := ptr.Deref(plan.Start, Start{})
	start.User = cmp.Or(report.User, start.User)
	if trigger := p.state.trigger(start.Sequence); trigger != nil {
		trigger.User = start.User
	}
	switch {
	case plan.Start == nil:
	case report.Unclear:
		p.applyUnclear(plan, report)
		if !report.Unsent {
			p.state = p.state.Sent(plan)
		}
		return p.state
	case report.Missing:
		p.applyMissing(*plan.Start)
		return p.state
	case report.Started != nil:
		p.applyStarted(start, *report.Started, report.Sent)
		p.proveTemplate(plan, "")
	default:
		p.applyRefused(start, report)
		if report.Refusal == ledger.Invalid {
			p.proveTemplate(plan, report.Message)
		}
		return p.state
	}
	if plan.Status != nil && !report.StatusLeft {
		status := *plan.Status
		if report.Judgement != nil {
			status = StatusJudged(status, *report.Judgement)
		}
		if plan.Start != nil {
			status = StatusStarted(status, plan.Start.run(*report.Started), p.state.Namespace)
		}
		// They are not compared.
		status.RecentRuns = nil
		p.state.Reported, p.state.StatusRetry = &status, Backoff{}
		if report.StatusFailed != "" {
			p.state = p.state.Sent(plan)
			p.state.Reported, p.state.StatusRetry = nil, plan.Next.StatusRetry.Next(p.now)
		}
	}
	return p.state
}

// run returns the run of a start as it is remembered.
func (s Start) run(job Run) Run {
	job.Scheduled, job.Manual, job.Backfill = s.Scheduled, s.Manual, s.Backfill
	return job
}

func (p *pass) applyDeletes(deletes []Delete, deleted []string) {
	failed, pruned := false, false
	for _, wanted := range deletes {
		run := Run{Name: wanted.Name, UID: wanted.UID}
		pruned = pruned || !wanted.Replaced
		switch done := slices.Contains(deleted, wanted.Name); {
		case done && wanted.Replaced:
			p.replace(wanted)
		case done:
			p.state.Finished = slices.DeleteFunc(p.state.Finished, func(other Finished) bool { return sameRun(other.Run, run) })
		case !wanted.Replaced:
			failed = true
		}
	}
	switch {
	case failed:
		p.state.Prune = p.state.Prune.Next(p.now)
	case pruned:
		p.state.Prune = Backoff{}
	}
}

// applyStarted takes in that a run has its Job. sent says that an earlier create may have had no answer.
func (p *pass) applyStarted(start Start, job Run, sent bool) {
	run := start.run(job)
	if delay := p.delayOf(start); delay != nil {
		run.Unclear = delay.Unclear
	}
	if sent {
		run.Unclear = p.now.Add(unclearFor)
	}
	run.Unclear = times.Later(run.Unclear, p.state.Unsure)
	if p.state.activeIndex(run) < 0 {
		p.state.Active = append(p.state.Active, run)
	}
	switch {
	case start.Backfill != 0:
		p.settleBackfilled(start.Backfill, start.Scheduled)
		if !p.state.Ledger.Has(run.Name) {
			p.record(start.entry(run, p.now))
		}
	case start.Manual:
		p.dropTrigger(start.Sequence)
		p.record(start.entry(run, p.now))
	default:
		p.state.LastScheduled = times.Later(p.state.LastScheduled, start.Scheduled)
		p.recordOutcome(start.entry(run, p.now))
	}
}

// applyRefused takes in that a run's Job was refused. A run that others wait for, or that a person asked for, is given
// up after some attempts; all times of a backfill are if the object takes none.
func (p *pass) applyRefused(start Start, report Report) {
	delay, backfill := p.delayOf(start), p.state.backfill(start.Backfill)
	if delay == nil {
		return
	}
	if report.Sent {
		delay.Unclear = p.now.Add(unclearFor)
	}
	if !delay.Unclear.IsZero() && !p.now.Before(delay.Unclear) {
		// The refusal was checked by a read of the Job.
		delay.Unclear, delay.Retry = time.Time{}, Backoff{}
	}
	if delay.Unclear.IsZero() {
		delay.Retry = delay.Retry.Next(p.now)
	} else {
		// Nothing else starts meanwhile.
		delay.Retry = delay.Retry.soon(p.now)
	}
	if report.Refusal == ledger.TooLate {
		// The next plan settles the run, or waits a little if the activity's clock is ahead of ours.
		return
	}
	delay.Reason, delay.Message, delay.Blocked = cmp.Or(report.Refusal, ledger.RefusedOtherwise), report.Message, false
	row, never := start.row(ledger.FailedToCreate, delay.Reason, delay.Message, p.now), start.Manual && report.Refusal == ledger.SignalRefused
	switch {
	case !delay.Unclear.IsZero(), delay.Retry.Attempts < triggerAttempts && !never:
	case !start.Manual:
		if len(p.state.Calendar.Waiting) > 0 {
			p.recordOutcome(row)
		}
	case backfill != nil && never:
		p.record(backfill.entry(ledger.FailedToCreate, row.Reason, row.Message, p.now))
		p.dropBackfill(start.Backfill)
	default:
		p.giveUp(start, row)
	}
}

// giveUp ends a manual run that has no Job, with its row.
func (p *pass) giveUp(start Start, row ledger.Entry) {
	p.record(row)
	if !p.settleBackfilled(start.Backfill, start.Scheduled) {
		p.dropTrigger(start.Sequence)
		p.state.Reported = nil // The sender was told that it waits.
	}
}
