package schedule

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
)

// maxTriggers bounds State.Triggers.
const maxTriggers = 100

// NeedsEvaluation reports whether Decide needs scheduled times that the state does
// not have: the schedule is new, or the recorded times have run out or grown old.
func NeedsEvaluation(state State, spec Spec, now time.Time) bool {
	calendar := state.Calendar
	switch {
	case state.Doubtful:
		// What is found may change from when times count.
		return false
	case !calendar.madeFor(spec):
		return true
	case calendar.Problem != nil, spec.Suspend, spec.Deleting:
		return false
	}
	count := len(calendar.Upcoming)
	return count == 0 || !calendar.Upcoming[count-1].After(now) || calendar.rechecks() && !calendar.Recheck.After(now)
}

// Take returns the state with an Evaluation's times in it. Scheduled times that
// passed before the most recent one get their outcome by Decide.
func Take(state State, spec Spec, evaluation Evaluation) State {
	s := state.clone()
	before := s.Calendar
	s.Calendar = Calendar{
		Made:     true,
		Schedule: evaluation.Schedule,
		TimeZone: evaluation.TimeZone,
		Problem:  evaluation.Problem,
		Due:      before.Due,
		Missed:   before.Missed,

		Waiting: before.Waiting, CaughtUp: before.CaughtUp, Announced: before.Announced,
	}
	if !before.madeFor(spec) && setsZone(evaluation.Schedule) {
		s.Outbox = append(s.Outbox, unsupportedZone(evaluation.Schedule))
	}
	if problem := evaluation.Problem; problem != nil {
		if before.Problem == nil || *before.Problem != *problem {
			s.Outbox = append(s.Outbox, problem.event())
		}
		return s
	}
	if spec.Suspend || spec.Deleting {
		return s
	}
	s.Calendar.Upcoming, s.Calendar.Recheck = slices.Clone(evaluation.Upcoming), evaluation.Recheck
	if evaluation.last().IsZero() {
		return s
	}
	kept := evaluation.Waiting
	if !evaluation.Due.IsZero() {
		kept = append(slices.Clone(kept), evaluation.Due)
	}
	s.come(spec, evaluation.Missed, kept, evaluation.CaughtUp)
	if evaluation.TooMany {
		s.Outbox = append(s.Outbox, event.Warning("TooManyMissedTimes",
			"too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"))
	}
	return s
}

// SpecChanged returns the state after an edit of the spec. An edited schedule
// counts from the edit: its scheduled times before that never were due. Any edit
// ends the back-off after a refused create.
func SpecChanged(state State, from, to Spec, now time.Time) State {
	s, now := state.clone(), now.UTC()
	// What is held back now may have started by the spec before, in a task that is
	// repeated now.
	s.Doubtful = s.Doubtful || s.mayHaveStarted(from, now) || len(s.Triggers) > 0 || len(s.Backfills) > 0
	if from.Schedule != to.Schedule || !equalZone(from.TimeZone, to.TimeZone) {
		s.advance(from, now)
		for _, scheduled := range s.queue() {
			s.Calendar.Missed = append(s.Calendar.Missed, single(scheduled, ""))
		}
		s.Calendar.Due, s.Calendar.Waiting, s.Calendar.CaughtUp = time.Time{}, nil, time.Time{}
		slices.SortStableFunc(s.Calendar.Missed, MissedRuns.compare)
		unsettled := s.Calendar.Missed
		s.Calendar.Missed = nil
		for _, missed := range unsettled {
			s.settle(missed.entry(LedgerEntry{Recorded: now, Outcome: SkippedSuperseded, Reason: ReasonScheduleChanged}))
		}
		s.Settled = later(s.Settled, now)
		s.Calendar.Upcoming, s.Pending = nil, nil
	}
	if !to.inOrder() {
		s.disband(now)
	}
	if from.Generation != to.Generation {
		if s.Pending != nil {
			s.Pending.Retry = Backoff{}
		}
		for index := range s.Triggers {
			s.Triggers[index].Retry = Backoff{}
		}
		for index := range s.Backfills {
			s.Backfills[index].Retry = Backoff{}
		}
		s.Prune, s.Judging = Backoff{}, Backoff{}
	}
	return s
}

// AddTrigger returns the state with one more manual run asked for, under the concurrency
// policy that overlap names, or the CronJob's. One that is none is refused.
func AddTrigger(state State, note string, overlap batchv1.ConcurrencyPolicy, now time.Time) State {
	s, now := state.clone(), now.UTC()
	if mistake := OverlapMistake(overlap); mistake != "" {
		s.refuseTrigger(note, mistake, now)
		return s
	}
	if len(s.Triggers) >= maxTriggers {
		s.record(LedgerEntry{
			Scheduled: now, Recorded: now, Outcome: SkippedOverlap, Reason: ReasonTooManyTriggers, Message: note, Manual: true,
		})
		return s
	}
	s.TriggerSequence++
	s.Triggers = append(s.Triggers, Trigger{Sequence: s.TriggerSequence, At: now, Note: note, Overlap: overlap})
	return s
}

// Finish returns the state after a Job of the CronJob finished. It may be told
// twice, and of Jobs that the workflow did not start.
func Finish(state State, spec Spec, finished Finished) State {
	s := state.clone()
	if index := s.activeIndex(finished.Run); index >= 0 {
		finished.Run = s.Active[index]
		s.Active = slices.Delete(s.Active, index, index+1)
		s.count(finished.end())
		// Without history the Job is deleted before it is seen (parity 1.8).
		if spec.HistoryLimit(finished.Condition) > 0 {
			s.Outbox = append(s.Outbox, sawCompleted(finished))
		}
	}
	if finished.Condition == batchv1.JobComplete {
		s.LastSuccessful = later(s.LastSuccessful, finished.CompletionTime)
	}
	known := slices.ContainsFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, finished.Run) })
	s.conclude(finished.Run, finished.end())
	s.concludeSighted(finished)
	if !known {
		s.Finished = append(s.Finished, finished.kept())
	}
	return s
}

// Missing returns the state after a Job of the CronJob went away, finished or not.
func Missing(state State, run Run, now time.Time) State {
	s := state.clone()
	if index := s.activeIndex(run); index >= 0 {
		s.Outbox = append(s.Outbox, event.Normal("MissingJob", "Active job went missing: "+s.Active[index].Name))
		s.conclude(s.Active[index], end{result: RunDeleted, at: now.UTC()})
		s.concludeSighted(Finished{Run: s.Active[index], Condition: jobDeleted, EndTime: now.UTC()})
		s.Active = slices.Delete(s.Active, index, index+1)
	}
	s.Finished = slices.DeleteFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, run) })
	return s
}

func sawCompleted(finished Finished) event.Event {
	return event.Normal("SawCompletedJob",
		"Saw completed job: "+finished.Run.Name+", condition: "+string(finished.Condition))
}
