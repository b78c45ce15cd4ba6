package schedule

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
)

// Plan is what Decide wants done, in one go; Apply takes in what came of it. Of an
// idle Plan nothing is to be done, and Next is the new state.
type Plan struct {
	// Deletes come before Start. Those with Replaced set must succeed.
	Deletes []Delete
	// Start asks for at most one run.
	Start *Start
	// Status is the status to apply, without the run of Start (see StatusStarted);
	// nil when the object has it already.
	Status *ostinatov1.CronJobStatus
	// Judge asks for a Judgement of the template, after Start.
	Judge bool
	// Events are to be emitted after the writes.
	Events []event.Event
	// Wake is when to plan again; zero for not before something happens.
	Wake time.Time
	// Next is the state with the decisions made, and nothing carried out yet.
	Next State
}

// Idle reports whether there is nothing to carry out. A judgement comes with something
// else, unless it has failed before: a new generation is reported in any case.
func (p Plan) Idle() bool {
	return len(p.Deletes) == 0 && p.Start == nil && p.Status == nil && len(p.Events) == 0 &&
		!(p.Judge && p.Next.Judging.Attempts > 0)
}

// Decide says what a CronJob does now. Scheduled times come from the last
// Evaluation taken; call it while NeedsEvaluation reports true.
func Decide(state State, spec Spec, now time.Time) Plan {
	s, now := state.clone(), now.UTC()
	s.markSuspension(spec, now)
	s.advance(spec, now)
	s.dropLate(spec, now)

	var plan Plan
	if spec.Deleting {
		s.dropTriggers(now)
	} else {
		plan.Start = s.chooseStart(spec, now)
	}
	if plan.Start != nil && spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		for _, run := range s.Active {
			plan.Deletes = append(plan.Deletes, Delete{Name: run.Name, UID: run.UID, Replaced: true})
		}
	}
	plan.Deletes = append(plan.Deletes, s.prune(spec, now)...)

	s.setConditions(spec, now)
	plan.Status = s.changedStatus(spec, plan)
	plan.Judge = s.toJudge(spec, now)
	plan.Events, s.Outbox = s.Outbox, nil
	plan.Wake = s.wake(spec)
	plan.Next = s
	return plan
}

// markSuspension opens and closes the suspension. While it lasts no times are
// kept: whatever passes is looked up at its end.
func (s *State) markSuspension(spec Spec, now time.Time) {
	lasting := !s.Suspension.From.IsZero() && s.Suspension.To.IsZero()
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
	if spec.Suspend || spec.Deleting {
		s.Calendar.Due, s.Calendar.Upcoming = time.Time{}, nil
	}
}

// advance makes the run of the latest upcoming time that has come the due one.
func (s *State) advance(spec Spec, now time.Time) {
	passed := 0
	for _, scheduled := range s.Calendar.Upcoming {
		if scheduled.After(now) {
			break
		}
		s.supersede(spec, now)
		s.Calendar.Due = scheduled
		passed++
	}
	s.Calendar.Upcoming = s.Calendar.Upcoming[passed:]
}

// supersede settles the run that was due, since a later one is.
func (s *State) supersede(spec Spec, now time.Time) {
	if due := s.Calendar.Due; !due.IsZero() {
		s.settle(s.notStarted(spec, due, now))
	}
}

// notStarted returns the outcome of a scheduled time whose run will not start any more.
func (s *State) notStarted(spec Spec, scheduled, now time.Time) LedgerEntry {
	entry := LedgerEntry{Scheduled: scheduled, Recorded: now, Outcome: Missed, Reason: ReasonSuperseded}
	pending := s.Pending
	switch {
	case pending != nil && pending.Scheduled.Equal(scheduled) && pending.Reason != "":
		entry.Outcome, entry.Reason = NotAccepted, ReasonFailedCreate
		entry.Message = pending.Reason + ": " + pending.Message
	case pending != nil && pending.Scheduled.Equal(scheduled) && pending.Blocked:
		entry.Outcome, entry.Reason = Skipped, ReasonJobAlreadyActive
	case s.Suspension.covers(scheduled):
		entry.Reason = ReasonSuspended
	case tooLate(spec, scheduled, now):
		entry.Reason = ReasonStartingDeadlineExceeded
	}
	return entry
}

// tooLate reports whether startingDeadlineSeconds excludes a run. Lateness
// counts in whole seconds, so that a deadline of 0 means: on time.
func tooLate(spec Spec, scheduled, now time.Time) bool {
	return spec.StartingDeadlineSeconds != nil &&
		now.Truncate(time.Second).Sub(scheduled) > deadline(*spec.StartingDeadlineSeconds)
}

// dropLate settles the due run when its starting deadline has passed.
func (s *State) dropLate(spec Spec, now time.Time) {
	due := s.Calendar.Due
	if due.IsZero() || !tooLate(spec, due, now) {
		return
	}
	entry := s.notStarted(spec, due, now)
	if entry.Reason != ReasonSuspended {
		s.Outbox = append(s.Outbox, event.Warning("MissSchedule",
			"Missed scheduled time to start a job: "+due.UTC().Format(time.RFC1123Z)))
	}
	s.settle(entry)
}

// chooseStart picks the one run to start now: the due one first, then triggers
// in their order, which a suspension or a bad schedule does not stop.
func (s *State) chooseStart(spec Spec, now time.Time) *Start {
	forbidden := spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(s.Active) > 0
	if due := s.Calendar.Due; !due.IsZero() {
		if s.Pending == nil || !s.Pending.Scheduled.Equal(due) {
			s.Pending = &Pending{Scheduled: due}
		}
		if forbidden {
			if !s.Pending.Blocked {
				s.Outbox = append(s.Outbox, alreadyActive())
			}
			s.Pending.Blocked = true
		} else if !now.Before(s.Pending.Retry.Until) {
			return &Start{Name: names.ScheduledJob(s.Name, due), Scheduled: due, Before: s.startBefore(spec, due)}
		}
	}
	for len(s.Triggers) > 0 {
		trigger := s.Triggers[0]
		if forbidden {
			s.Outbox = append(s.Outbox, alreadyActive())
			s.Triggers = s.Triggers[1:]
			s.record(trigger.entry(Skipped, ReasonJobAlreadyActive, now))
			continue
		}
		if now.Before(trigger.Retry.Until) {
			return nil
		}
		return &Start{
			Name:      names.TriggeredJob(s.Name, s.UID, trigger.Sequence),
			Scheduled: trigger.At.Truncate(time.Second),
			Manual:    true,
			Sequence:  trigger.Sequence,
			Note:      trigger.Note,
		}
	}
	return nil
}

// startBefore returns when a due run may not start any more, as tooLate and
// advance will say then.
func (s *State) startBefore(spec Spec, due time.Time) time.Time {
	var before time.Time
	if len(s.Calendar.Upcoming) > 0 {
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

func alreadyActive() event.Event {
	return event.Normal("JobAlreadyActive",
		"Not starting job because prior execution is running and concurrency policy is Forbid")
}

// dropTriggers forgets the manual runs of a CronJob that is being deleted.
func (s *State) dropTriggers(now time.Time) {
	for _, trigger := range s.Triggers {
		s.record(trigger.entry(Skipped, ReasonDeleting, now))
	}
	s.Triggers = nil
}

func (t Trigger) entry(outcome LedgerOutcome, reason string, now time.Time) LedgerEntry {
	return LedgerEntry{
		Scheduled: t.At.Truncate(time.Second), Recorded: now, Outcome: outcome, Reason: reason, Message: t.Note, Manual: true,
	}
}

// changedStatus returns the status to apply: what the state says, without the runs
// that are to be replaced.
func (s *State) changedStatus(spec Spec, plan Plan) *ostinatov1.CronJobStatus {
	rest := *s
	rest.Active = slices.DeleteFunc(slices.Clone(s.Active), func(run Run) bool {
		return slices.ContainsFunc(plan.Deletes, func(d Delete) bool { return d.Replaced && d.UID == run.UID })
	})
	status := StatusOf(rest, spec)
	if plan.Start == nil && s.Reported != nil && equalStatus(status, *s.Reported) {
		return nil
	}
	return &status
}

// wake returns the next time at which the plan can change by itself.
func (s *State) wake(spec Spec) time.Time {
	var wake time.Time
	earliest := func(t time.Time) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	earliest(s.Prune.Until)
	if spec.Deleting {
		return wake
	}
	earliest(s.Judging.Until)
	if len(s.Triggers) > 0 {
		earliest(s.Triggers[0].Retry.Until)
	}
	if len(s.Calendar.Upcoming) > 0 {
		earliest(s.Calendar.Upcoming[0])
		earliest(s.Calendar.Recheck)
	}
	if s.Pending != nil && !s.Calendar.Due.IsZero() && !s.Pending.Blocked {
		earliest(s.Pending.Retry.Until)
	}
	return wake
}
