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

// MaxTriggers bounds State.Triggers.
const MaxTriggers = 100

// NeedsEvaluation reports whether Decide needs scheduled times that the state does not have: the schedule is new, or
// the recorded times have run out or grown old.
func NeedsEvaluation(state State, spec Spec, now time.Time) bool {
	calendar := state.Calendar
	recheck := calendar.rechecks() && !calendar.Recheck.After(now)
	switch {
	case !calendar.madeFor(spec):
		return true
	case spec.Deleting, spec.Suspend && calendar.Problem == nil:
		return false
	case calendar.Problem != nil:
		return recheck
	}
	count := len(calendar.Upcoming)
	return count == 0 || !calendar.Upcoming[count-1].After(now) || recheck
}

// Take returns the state with an Evaluation's times in it. Decide settles those that passed.
func Take(state State, spec Spec, evaluation Evaluation) State {
	p := begin(state, spec, time.Time{})
	before, calendar := p.state.Calendar, &p.state.Calendar
	calendar.Made, calendar.Schedule, calendar.TimeZone, calendar.Problem = true, evaluation.Schedule, evaluation.TimeZone, evaluation.Problem
	calendar.Upcoming, calendar.Recheck, calendar.Lead = nil, time.Time{}, 0
	if !before.madeFor(spec) {
		// Upstream looks for the letters anywhere.
		if strings.Contains(evaluation.Schedule, "TZ") {
			p.emit(event.Warning("UnsupportedSchedule", fmt.Sprintf(
				"CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
				evaluation.Schedule)))
		}
		p.missAll(evaluation.Unnamed, ledger.ReasonScheduleChanged)
	}
	if problem := evaluation.Problem; problem != nil {
		calendar.Recheck = evaluation.Recheck
		if before.Problem == nil || *before.Problem != *problem {
			p.emit(event.Warning(string(problem.Reason), problem.Message))
		}
	}
	if spec.Suspend || spec.Deleting {
		return p.state
	}
	calendar.Upcoming, calendar.Recheck, calendar.Lead = slices.Clone(evaluation.Upcoming), evaluation.Recheck, evaluation.Lead
	if evaluation.last().IsZero() {
		return p.state
	}
	kept := evaluation.Waiting
	if !evaluation.Due.IsZero() {
		kept = append(slices.Clone(kept), evaluation.Due)
	}
	p.receiveTimes(evaluation.Missed, kept, evaluation.CaughtUp)
	if evaluation.TooMany {
		p.emit(event.Warning("TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"))
	}
	return p.state
}

// SpecChanged returns the state after an edit. An edited schedule counts from now: earlier times are due only if the
// former schedule named them too. Any edit ends back-offs, and an unusable schedule is judged again.
func SpecChanged(state State, from, to Spec, now time.Time) State {
	p := begin(state.StatusUnknown(), from, now)
	if to.Suspend && !from.Suspend && !p.state.Suspension.lasts() {
		p.suspend(p.suspendedSince())
	}
	if !to.runsAt(from.Schedule, from.TimeZone) {
		// It is not known when it was replaced: times that both name stay due.
		former := append(p.state.Calendar.Former, FormerSchedule{Schedule: from.Schedule, TimeZone: from.TimeZone, Until: p.now})
		p.state.Calendar.Former, p.state.Calendar.Upcoming = former[max(len(former)-maxFormer, 0):], nil
	}
	if !to.inOrder() {
		p.disband()
	}
	if from.Generation != to.Generation {
		if p.state.Pending != nil {
			p.state.Pending.Retry = Backoff{}
		}
		for index := range p.state.Triggers {
			p.state.Triggers[index].Retry = Backoff{}
		}
		for index := range p.state.Backfills {
			p.state.Backfills[index].Retry = Backoff{}
		}
		p.state.Prune, p.state.Judging = Backoff{}, Backoff{}
		if p.state.Calendar.Problem != nil {
			p.state.Calendar.Recheck = p.now
		}
	}
	return p.state
}

// Resume returns the state of a CronJob that a workflow takes over from the one before. The times of the schedule, or what is
// wrong with it, are computed anew: another worker may have other code or zone data, and the state may be forged.
func Resume(state State, identity Identity, now time.Time) State {
	identity.Created = state.Created
	state.Identity = identity
	state.Calendar.Recheck = now.UTC()
	return state
}

// StatusUnknown returns the state in which the status is to be written again: the object may have another.
func (s State) StatusUnknown() State {
	s.Reported = nil
	return s
}

// Announce returns the state with an Event to be emitted.
func Announce(state State, announced event.Event) State {
	state.Outbox = append(slices.Clip(state.Outbox), announced)
	return state
}

// Finish returns the state after a Job finished. It may be called twice, and for Jobs that the workflow did not start.
func Finish(state State, spec Spec, finished Finished) State {
	p := begin(state, spec, time.Time{})
	// Without history the Job is deleted before it is seen (parity 1.8).
	p.finish(finished, spec.HistoryLimit(finished.Condition) > 0)
	return p.state
}

// finish takes in that a Job has finished. The end of an active run counts, and may be announced.
func (p *pass) finish(finished Finished, announce bool) {
	if index := p.state.activeIndex(finished.Run); index >= 0 {
		finished.Run = p.state.Active[index]
		p.state.Active = slices.Delete(p.state.Active, index, index+1)
		p.count(finished)
		if announce {
			p.emit(event.Normal("SawCompletedJob", "Saw completed job: "+finished.Run.Name+", condition: "+string(finished.Condition)))
		}
	}
	if finished.Condition == batchv1.JobComplete {
		p.state.LastSuccessful = times.Later(p.state.LastSuccessful, finished.CompletionTime)
	}
	p.conclude(finished)
	if !slices.ContainsFunc(p.state.Finished, func(other Finished) bool { return sameRun(other.Run, finished.Run) }) {
		// The history limits need no more of it.
		finished.EndTime, finished.Reason, finished.Stopped, finished.FailedPods = time.Time{}, "", "", 0
		p.state.Finished = append(p.state.Finished, finished)
	}
}

// Missing returns the state after a Job of the CronJob went away, finished or not.
func Missing(state State, run Run, now time.Time) State {
	p := begin(state, Spec{}, now)
	if index := p.state.activeIndex(run); index >= 0 {
		p.emit(event.Normal("MissingJob", "Active job went missing: "+p.state.Active[index].Name))
		p.conclude(Finished{Run: p.state.Active[index], Condition: JobDeleted, EndTime: p.now})
		p.state.Active = slices.Delete(p.state.Active, index, index+1)
	}
	p.state.Finished = slices.DeleteFunc(p.state.Finished, func(other Finished) bool { return sameRun(other.Run, run) })
	return p.state
}

// HistoryLimit returns how many finished Jobs of a condition are kept.
func (s Spec) HistoryLimit(condition batchv1.JobConditionType) int32 {
	if condition == batchv1.JobComplete {
		return s.SuccessfulJobsHistoryLimit
	}
	return s.FailedJobsHistoryLimit
}

// prune returns the history deletes that are due (parity 1.8), of each kind the oldest, even of a CronJob being deleted.
func (p *pass) prune() []Delete {
	if p.now.Before(p.state.Prune.Until) {
		return nil
	}
	var deletes []Delete
	for _, condition := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		kind := slices.DeleteFunc(slices.Clone(p.state.Finished), func(f Finished) bool { return f.Condition != condition })
		slices.SortFunc(kind, byStart)
		for _, finished := range kind[:max(len(kind)-int(p.spec.HistoryLimit(condition)), 0)] {
			if kept := finished.keptUntil(); p.now.Before(kept) {
				if p.prunable.IsZero() || kept.Before(p.prunable) {
					p.prunable = kept
				}
				continue
			}
			deletes = append(deletes, Delete{Name: finished.Run.Name, UID: finished.Run.UID})
		}
	}
	if len(deletes) == 0 {
		p.state.Prune = Backoff{}
	}
	return deletes[:min(len(deletes), MaxPruned)]
}

// byStart orders by start time, those without one last, then by name.
func byStart(a, b Finished) int {
	if a.StartTime.IsZero() != b.StartTime.IsZero() {
		return b.StartTime.Compare(a.StartTime)
	}
	return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.Run.Name, b.Run.Name))
}
