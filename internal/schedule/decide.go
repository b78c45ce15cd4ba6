package schedule

import (
	"slices"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// MaxDeletes bounds the Jobs that one plan deletes; the next one goes on.
	MaxDeletes = 500
)

// Plan is what Decide wants done; Apply takes in the result. Of an idle Plan, Next is the new state.
type Plan struct {
	// Start asks for at most one run.
	Start *Start
	// Deletes are the runs that Start replaces, deleted before it; without a start those beyond the history limits,
	// deleted after Status.
	Deletes []Delete
	// Status is the status to apply, without the run of Start (see StatusStarted); nil if the object has it already, or
	// if it follows the start: plan again then when the run's workflow has begun.
	Status *ostinatov1.CronJobStatus
	// Judge asks for a Judgement of the template; a start is one by itself.
	Judge bool
	// Pause asks only to suspend the CronJob after failures. Call Paused when that is done.
	Pause bool
	// Events are to be emitted after the writes.
	Events []event.Event
	// Wake is when to plan again; zero for not before something happens. WakeFor says in words what for.
	Wake    time.Time
	WakeFor string
	// Next is the state with the decisions made, and nothing carried out yet.
	Next State
}

// Idle reports whether there is nothing to carry out. Only a judgement that failed before comes alone.
func (p Plan) Idle() bool {
	return !p.Pause && len(p.Deletes) == 0 && p.Start == nil && p.Status == nil && len(p.Events) == 0 &&
		!(p.Judge && p.Next.Judging.Attempts > 0)
}

// Decide says what a CronJob does now, by the last Evaluation taken: none may be needed (NeedsEvaluation).
func Decide(state State, spec Spec, now time.Time) Plan {
	s, now := state.clone(), now.UTC()
	s.markSuspension(spec, now)
	s.forgive(spec)
	s.advance(spec, now)
	s.dropOverflow(spec)
	s.dropLate(spec, now)
	s.adoptRecovered(spec, now)
	s.settleMissed(spec, now)
	s.recordRecovered(now)
	s.closeFormer(spec)
	s.dropBackfills(spec, now)

	var plan Plan
	if spec.Deleting {
		s.dropTriggers(now)
	} else {
		plan.Start = s.chooseStart(spec, now)
	}
	s.announceQueue(spec)
	if plan.Start != nil {
		plan.Deletes = s.replacements(plan.Start.Under(spec))
	} else {
		plan.Deletes = s.prune(spec, now)
	}
	plan.Deletes = plan.Deletes[:min(len(plan.Deletes), MaxDeletes)]

	s.setConditions(spec, now)
	plan.Judge = plan.Start == nil && s.toJudge(spec, now)
	plan.Status = s.changedStatus(spec, plan, now)
	plan.Events, s.Outbox = s.Outbox[max(len(s.Outbox)-event.MaxPerRequest, 0):], nil
	plan.Wake, plan.WakeFor = s.wake(spec, now)
	plan.Next = s
	if plan.Idle() {
		plan.Pause = s.pausing(spec)
	}
	return plan
}

// markSuspension opens and closes the suspension. While it lasts no times are kept: they are computed at its end.
func (s *State) markSuspension(spec Spec, now time.Time) {
	lasting := s.Suspension.lasts()
	switch {
	case spec.Suspend && !lasting:
		s.Suspension = Suspension{From: now}
		for _, condition := range s.Conditions {
			if condition.Type == ostinatov1.ConditionSuspended && condition.Status {
				s.Suspension.From = condition.Since
			}
		}
	case !spec.Suspend && lasting:
		s.Suspension.To = now
	}
	if !spec.Suspend && !spec.Deleting {
		return
	}
	// A run that became due before others were settled can't be looked up at the end.
	kept := !s.Calendar.Due.IsZero() && !s.Calendar.Due.After(s.Settled) && !spec.Deleting
	if s.Calendar.Upcoming = nil; !spec.inOrder() && !kept || spec.Deleting {
		s.setQueue(nil)
	}
}

// suspendedSince returns from when a suspension counts that is heard of now: from a run that just became due, unless
// something else has held it up.
func (s *State) suspendedSince(spec Spec, now time.Time) time.Time {
	if s.atCapacity(spec) {
		return now
	}
	for _, scheduled := range slices.Concat(s.queue(), s.Calendar.Upcoming) {
		if tried, _ := s.delay(scheduled).why(); tried == "" && !scheduled.After(now) && prompt(scheduled, now) {
			return scheduled
		}
	}
	return now
}

// advance takes in the upcoming times that have come.
func (s *State) advance(spec Spec, now time.Time) {
	passed, upcoming := times.Split(s.Calendar.Upcoming, now)
	if len(passed) == 0 {
		return
	}
	s.Calendar.Upcoming = upcoming
	kept, why := spec.caughtUp(passed, now)
	var missed []MissedRuns
	for _, scheduled := range passed[:len(passed)-len(kept)] {
		missed = append(missed, single(scheduled, why))
	}
	s.come(spec, missed, kept, lastLate(kept, now))
}

// settleMissed gives missed times their outcome.
func (s *State) settleMissed(spec Spec, now time.Time) {
	missed := s.Calendar.Missed
	s.Calendar.Missed = nil
	slices.SortStableFunc(missed, MissedRuns.compare)
	for _, stretch := range missed {
		if recovered := s.recoveredFor(stretch); recovered != nil {
			s.settle(s.found(*recovered, now))
			continue
		}
		s.settle(stretch.entry(s.notStarted(spec, stretch, now)))
	}
}

// notStarted returns the outcome of scheduled times whose runs will not start any more.
func (s *State) notStarted(spec Spec, stretch MissedRuns, now time.Time) ledger.Entry {
	scheduled := stretch.Last
	entry := ledger.Entry{Scheduled: scheduled, Recorded: now, Outcome: ledger.SkippedSuperseded, Reason: ledger.ReasonOutage}
	delay, late := s.delay(scheduled), tooLate(spec, scheduled, now)
	switch {
	case stretch.Reason == ledger.ReasonScheduleChanged && !s.Suspension.covers(scheduled):
		entry.Reason = stretch.Reason
	case delay.Reason != "":
		entry.Outcome, entry.Reason, entry.Message = ledger.FailedToCreate, delay.Reason, delay.Message
	case stretch.Reason == ledger.ReasonQueueFull:
		entry.Outcome, entry.Reason = ledger.SkippedOverlap, stretch.Reason
	case delay.Blocked && !(late && spec.inOrder()):
		entry.Outcome, entry.Reason = ledger.SkippedOverlap, ledger.ReasonJobAlreadyActive
	case s.Suspension.covers(scheduled):
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

// tooLate reports whether startingDeadlineSeconds excludes a run, in whole seconds: a deadline of 0 means on time.
func tooLate(spec Spec, scheduled, now time.Time) bool {
	return spec.StartingDeadlineSeconds != nil &&
		now.Truncate(time.Second).Sub(scheduled) > deadline(*spec.StartingDeadlineSeconds)
}

// dropLate makes due runs missed ones when their starting deadline has passed.
func (s *State) dropLate(spec Spec, now time.Time) {
	for due := s.Calendar.Due; !due.IsZero() && tooLate(spec, due, now); due = s.Calendar.Due {
		found := s.recoveredFor(single(due, "")) != nil
		if !found && s.notStarted(spec, single(due, ""), now).Reason != ledger.ReasonSuspended {
			s.Outbox = append(s.Outbox, event.Warning("MissSchedule",
				"Missed scheduled time to start a job: "+due.UTC().Format(time.RFC1123Z)))
		}
		s.missAll([]time.Time{due}, "")
	}
}

// chooseStart picks the run to start now: the due one or the first trigger's, whichever came first, then backfilled
// ones. So a repeated workflow task asks for the same run first. A suspension does not stop manual runs.
func (s *State) chooseStart(spec Spec, now time.Time) *Start {
	var due *Start
	if s.atCapacity(spec) {
		s.block(spec)
	} else {
		due = s.dueStart(spec, now)
	}
	s.settleForbidden(spec, now)
	manual := s.triggeredStart(spec, now)
	if manual != nil && (due == nil || s.nextTrigger(spec).At.Before(due.Scheduled)) {
		return manual
	}
	if due == nil {
		return s.backfillStart(spec, now)
	}
	return due
}

// block keeps the due run waiting.
func (s *State) block(spec Spec) {
	if due := s.Calendar.Due; !due.IsZero() && !spec.Suspend {
		s.Pending = &Pending{Scheduled: due, Delay: s.delay(due)}
		if !s.Pending.Blocked && !spec.inOrder() {
			s.Outbox = append(s.Outbox, alreadyActive(spec))
		}
		s.Pending.Blocked = true
	}
}

// mayStartDue reports whether a run is due that nobody has suspended.
func (s *State) mayStartDue(spec Spec) bool {
	return !s.Calendar.Due.IsZero() && !spec.Suspend && !s.pausing(spec)
}

// dueStart returns the start of the due run, unless there is none or its retry has to wait.
func (s *State) dueStart(spec Spec, now time.Time) *Start {
	due := s.Calendar.Due
	if !s.mayStartDue(spec) {
		return nil
	}
	if s.Pending = (&Pending{Scheduled: due, Delay: s.delay(due)}); now.Before(s.Pending.Retry.Until) {
		return nil
	}
	start := &Start{Name: names.ScheduledJob(s.Name, due), Scheduled: due, Before: s.startBefore(spec, due)}
	start.WhyLate, start.LateMessage = s.whyLate(due, ledger.ReasonOutage)
	return start
}

// startBefore returns when a due run may not start any more, as tooLate and advance will say then.
func (s *State) startBefore(spec Spec, due time.Time) time.Time {
	var before time.Time
	if len(s.Calendar.Upcoming) > 0 && !spec.inOrder() {
		before = s.Calendar.Upcoming[0]
	}
	if spec.StartingDeadlineSeconds != nil {
		end := due.Add(deadline(*spec.StartingDeadlineSeconds)).Add(time.Second)
		if before.IsZero() || end.Before(before) {
			before = end
		}
	}
	return before
}

// changedStatus returns the status to apply: what the state says, without the runs that are to be replaced.
func (s *State) changedStatus(spec Spec, plan Plan, now time.Time) *ostinatov1.CronJobStatus {
	rest := s.clone()
	for _, wanted := range plan.Deletes {
		if wanted.Replaced {
			rest.replace(wanted, now)
		}
	}
	if plan.Start != nil && !plan.Start.Manual {
		rest.takeOut(plan.Start.Scheduled)
	}
	status := StatusOf(rest, spec)
	if s.pausing(spec) && s.Reported != nil && s.Reported.ConsecutiveFailures != status.ConsecutiveFailures {
		// The API server is asked to suspend on the strength of what the status says.
		s.Reported = nil
	}
	switch {
	case plan.Start != nil && s.follows(spec, plan):
		return nil
	case plan.Start == nil && (now.Before(s.StatusRetry.Until) || s.Reported != nil && equalStatus(status, *s.Reported)):
		return nil
	}
	return &status
}

// follows reports whether the status is written once the run's workflow has begun, to start that sooner. It comes with
// the start if status.active bounds concurrency, for manual runs, and after an edit.
func (s *State) follows(spec Spec, plan Plan) bool {
	return !plan.Start.Manual && spec.Capacity() == 0 && s.Reported != nil && s.Reported.ObservedGeneration == spec.Generation
}

// MaxLead bounds how long before its time a run is prepared. A signal accepted earlier than that is sure to win.
const MaxLead = 4 * time.Second

// Ahead returns the time of the next run, if it is time to prepare its start.
func Ahead(state State, spec Spec, now time.Time) (due time.Time, ok bool) {
	if len(state.Calendar.Upcoming) == 0 || spec.Suspend || spec.Deleting || state.atCapacity(spec) {
		return time.Time{}, false
	}
	due = state.Calendar.Upcoming[0]
	return due, now.Before(due) && !now.Before(due.Add(-state.lead()))
}

// DecideAhead says what Decide will say at the due time, if that is to start the run. Nothing of it may be carried out
// before Start.Scheduled.
func DecideAhead(state State, spec Spec, due time.Time) (plan Plan, ok bool) {
	plan = Decide(state, spec, due)
	start := plan.Start
	if start == nil || start.Manual || !start.Scheduled.Equal(due) {
		return Plan{}, false
	}
	return plan, true
}

// lead is how long before its time the next run is prepared, whatever a forged state says.
func (s State) lead() time.Duration { return min(max(s.Calendar.Lead, 0), MaxLead) }

// wake returns the next time at which the plan can change by itself, and what it is for.
func (s *State) wake(spec Spec, now time.Time) (wake time.Time, why string) {
	why = "retry"
	earliest := func(t time.Time, reason string) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake, why = t, reason
		}
	}
	if len(s.Calendar.Upcoming) > 0 && !spec.Deleting {
		next := s.Calendar.Upcoming[0]
		earliest(next, "next run")
		if early := next.Add(-s.lead()); early.After(now) && !s.atCapacity(spec) {
			earliest(early, "before next run")
		}
	}
	if s.Calendar.rechecks() && !spec.Suspend && !spec.Deleting {
		earliest(s.Calendar.Recheck, "time zone check")
	}
	earliest(s.Prune.Until, "retry")
	earliest(s.StatusRetry.Until, "retry")
	if spec.Deleting {
		return wake, why
	}
	if s.template().ObservedGeneration != spec.Generation {
		// A run may have proved it since.
		earliest(s.Judging.Until, "retry")
	}
	if trigger := s.nextTrigger(spec); trigger != nil {
		earliest(trigger.Retry.Until, "retry")
	}
	if backfill := s.nextBackfill(spec); backfill != nil {
		earliest(backfill.Retry.Until, "retry")
	}
	if s.Pending != nil && s.mayStartDue(spec) && !s.atCapacity(spec) {
		earliest(s.Pending.Retry.Until, "retry")
	}
	return wake, why
}
