package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// maxTriggers bounds State.Triggers.
const maxTriggers = 100

// NeedsEvaluation reports whether Decide needs scheduled times that the state does not have: the schedule is new, or
// the recorded times have run out or grown old.
func NeedsEvaluation(state State, spec Spec, now time.Time) bool {
	calendar := state.Calendar
	recheck := calendar.rechecks() && !calendar.Recheck.After(now)
	switch {
	case !calendar.madeFor(spec):
		return true
	case spec.Deleting:
		return false
	case calendar.Problem != nil:
		return recheck
	case spec.Suspend:
		return false
	}
	count := len(calendar.Upcoming)
	return count == 0 || !calendar.Upcoming[count-1].After(now) || recheck
}

// Take returns the state with an Evaluation's times in it. Decide settles those that passed.
func Take(state State, spec Spec, evaluation Evaluation) State {
	s := state.clone()
	before, calendar := s.Calendar, &s.Calendar
	calendar.Made, calendar.Schedule, calendar.TimeZone, calendar.Problem = true, evaluation.Schedule, evaluation.TimeZone, evaluation.Problem
	calendar.Upcoming, calendar.Recheck, calendar.Lead = nil, time.Time{}, 0
	if !before.madeFor(spec) {
		if times.SetsZone(evaluation.Schedule) {
			s.Outbox = append(s.Outbox, event.Warning("UnsupportedSchedule", fmt.Sprintf(
				"CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
				evaluation.Schedule)))
		}
		s.missAll(evaluation.Unnamed, ledger.ReasonScheduleChanged)
	}
	if problem := evaluation.Problem; problem != nil {
		calendar.Recheck = evaluation.Recheck
		if before.Problem == nil || *before.Problem != *problem {
			s.Outbox = append(s.Outbox, event.Warning(string(problem.Reason), problem.Message))
		}
	}
	if spec.Suspend || spec.Deleting {
		return s
	}
	calendar.Upcoming, calendar.Recheck, calendar.Lead = slices.Clone(evaluation.Upcoming), evaluation.Recheck, evaluation.Lead
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

// SpecChanged returns the state after an edit. An edited schedule counts from now: earlier times are due only if the
// former schedule named them too. Any edit ends back-offs, and an unusable schedule is judged again.
func SpecChanged(state State, from, to Spec, now time.Time) State {
	s, now := state.StatusUnknown().clone(), now.UTC()
	if to.Suspend && !from.Suspend && !s.Suspension.lasts() {
		s.Suspension = Suspension{From: s.suspendedSince(from, now)}
	}
	if !to.runsAt(from.Schedule, from.TimeZone) {
		s.replaceSchedule(from, now)
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
		s.judgeAgain(now)
	}
	return s
}

// Resume returns the state that a workflow takes over from the one before. A Problem is judged anew: another worker may
// have other code or zone data.
func Resume(state State, identity Identity, now time.Time) State {
	state.Identity = identity
	state.judgeAgain(now)
	return state
}

func (s *State) judgeAgain(now time.Time) {
	if s.Calendar.Problem != nil {
		s.Calendar.Recheck = now.UTC()
	}
}

// StatusUnknown returns the state in which the status is to be written again: the object may have another.
func (s State) StatusUnknown() State {
	s.Reported = nil
	return s
}

// NumberTriggersFrom returns the state whose next trigger or backfill has the number after this one.
func (s State) NumberTriggersFrom(last int64) State {
	s.TriggerSequence = last
	return s
}

// Announce returns the state with an Event to be emitted.
func Announce(state State, announced event.Event) State {
	s := state.clone()
	s.Outbox = append(s.Outbox, announced)
	return s
}

// Finish returns the state after a Job finished. It may be called twice, and for Jobs that the workflow did not start.
func Finish(state State, spec Spec, finished Finished) State {
	s := state.clone()
	// Without history the Job is deleted before it is seen (parity 1.8).
	s.finish(finished, spec.HistoryLimit(finished.Condition) > 0)
	return s
}

// finish takes in that a Job has finished. The end of an active run counts, and may be announced.
func (s *State) finish(finished Finished, announce bool) {
	if index := s.activeIndex(finished.Run); index >= 0 {
		finished.Run = s.Active[index]
		s.Active = slices.Delete(s.Active, index, index+1)
		s.count(finished)
		if announce {
			s.Outbox = append(s.Outbox, event.Normal("SawCompletedJob",
				"Saw completed job: "+finished.Run.Name+", condition: "+string(finished.Condition)))
		}
	}
	if finished.Condition == batchv1.JobComplete {
		s.LastSuccessful = times.Later(s.LastSuccessful, finished.CompletionTime)
	}
	s.conclude(finished)
	if !slices.ContainsFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, finished.Run) }) {
		// The history limits need no more of it.
		finished.EndTime, finished.Reason, finished.FailedPods = time.Time{}, "", 0
		s.Finished = append(s.Finished, finished)
	}
}

// Missing returns the state after a Job of the CronJob went away, finished or not.
func Missing(state State, run Run, now time.Time) State {
	s := state.clone()
	if index := s.activeIndex(run); index >= 0 {
		s.Outbox = append(s.Outbox, event.Normal("MissingJob", "Active job went missing: "+s.Active[index].Name))
		s.conclude(Finished{Run: s.Active[index], Condition: JobDeleted, EndTime: now.UTC()})
		s.Active = slices.Delete(s.Active, index, index+1)
	}
	s.Finished = slices.DeleteFunc(s.Finished, func(other Finished) bool { return sameRun(other.Run, run) })
	return s
}

// pruneBatch bounds the history deletes of one plan.
const pruneBatch = 50

// HistoryLimit returns how many finished Jobs of a condition are kept.
func (s Spec) HistoryLimit(condition batchv1.JobConditionType) int32 {
	if condition == batchv1.JobComplete {
		return s.SuccessfulJobsHistoryLimit
	}
	return s.FailedJobsHistoryLimit
}

// prune returns the history deletes that are due (parity 1.8), of each kind the oldest, even of a CronJob being deleted.
func (s *State) prune(spec Spec, now time.Time) []Delete {
	if now.Before(s.Prune.Until) {
		return nil
	}
	var deletes []Delete
	for _, condition := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		kind := slices.DeleteFunc(slices.Clone(s.Finished), func(f Finished) bool { return f.Condition != condition })
		slices.SortFunc(kind, byStart)
		for _, finished := range kind[:max(len(kind)-int(spec.HistoryLimit(condition)), 0)] {
			if len(deletes) == pruneBatch {
				return deletes
			}
			deletes = append(deletes, Delete{Name: finished.Run.Name, UID: finished.Run.UID})
		}
	}
	if len(deletes) == 0 {
		s.Prune = Backoff{}
	}
	return deletes
}

// byStart orders by start time, those without one last, then by name.
func byStart(a, b Finished) int {
	if a.StartTime.IsZero() != b.StartTime.IsZero() {
		return b.StartTime.Compare(a.StartTime)
	}
	return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.Run.Name, b.Run.Name))
}
