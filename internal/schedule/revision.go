package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

// MaxPlanDigest bounds status.planDigest, in bytes, and MaxRevision status.revision.
const (
	MaxPlanDigest = 32
	MaxRevision   = 1_000_000_000_000
)

const (
	// maxUnanswered bounds Basis.Unanswered.
	maxUnanswered = 4
	// maxLost bounds the writes of one workflow task.
	maxLost = 8
	// maxLeap is how far a status may be ahead of a state for its revision to be one that Ostinato has counted up to.
	maxLeap = 1_000_000
	// contestedBy is how many times within contestedWithin a state must be overtaken for another writer to be at work.
	contestedBy, contestedWithin = 3, time.Minute
	// contestedFor is how long the condition says so.
	contestedFor = 10 * time.Minute
)

// GenerationOfReset is what BeginAnew is given for a generation if the workflow was reset. Then a later status shows that what Temporal
// has it hear again was carried out.
const GenerationOfReset = -1

// Basis is the status that a state rests on. What the workflow asks for is done only as long as the object has that status:
// the newer state wins.
type Basis struct {
	// Revision is that of the last write that was answered, or of the status that was read first.
	Revision int64 `json:"revision,omitempty"`
	// Unanswered are the digests of the last writes that were sent since and had no answer, the newest first. Each may have been
	// carried out.
	Unanswered [maxUnanswered]string `json:"unanswered,omitzero"`
}

// Overtakes reports whether the status is of a later state than the one of the basis.
func (b Basis) Overtakes(status ostinatov1.CronJobStatus) bool {
	return status.Revision > b.Revision && !b.sent(status)
}

// Next returns the revision of a write to an object with the status. That of the basis is later if etcd was restored; it may be
// forged, and counts no further than the object's schema allows.
func (b Basis) Next(status ostinatov1.CronJobStatus) int64 {
	return max(status.Revision, min(b.Revision, status.Revision+maxLeap-1)) + 1
}

// Wrote reports whether the status was written for the plan with the digest.
func (b Basis) Wrote(status ostinatov1.CronJobStatus, planDigest string) bool {
	ahead := status.Revision - b.Revision
	return planDigest != "" && ahead > 0 && ahead <= maxUnanswered+1 && status.PlanDigest == planDigest
}

// sent reports whether the status may be from a write that had no answer.
func (b Basis) sent(status ostinatov1.CronJobStatus) bool {
	return slices.Contains(b.Unanswered[:], status.PlanDigest) && b.Wrote(status, status.PlanDigest)
}

// Validate reports whether the Basis, which may be forged, can be a state's.
func (b Basis) Validate() error {
	if b.Revision < 0 || b.Revision > MaxRevision {
		return fmt.Errorf("basis: revision %d, want 0 to %d", b.Revision, int64(MaxRevision))
	}
	for _, digest := range b.Unanswered {
		if len(digest) > MaxPlanDigest {
			return fmt.Errorf("basis: a digest of %d bytes, want %d at most", len(digest), MaxPlanDigest)
		}
	}
	return nil
}

// PlanDigest identifies a status that a plan writes, with the run that it is written for; start is nil if there is none. It is
// empty if no status is written.
//
//workflowcheck:ignore encoding/json uses reflection; what it writes is deterministic.
func PlanDigest(status *ostinatov1.CronJobStatus, start *Start) string {
	if status == nil {
		return ""
	}
	run := ""
	if start != nil {
		run = start.Name
	}
	return digestOf(struct {
		Status ostinatov1.CronJobStatus
		Run    string
	}{*status, run})
}

// Sent returns the state after a write of the plan's status had no answer.
func (s State) Sent(plan Plan) State {
	if plan.Status == nil {
		return s
	}
	digest := PlanDigest(plan.Status, plan.Start)
	if !slices.Contains(s.Basis.Unanswered[:], digest) {
		copy(s.Basis.Unanswered[1:], s.Basis.Unanswered[:])
		s.Basis.Unanswered[0] = digest
	}
	return s
}

// contestedMessage says what is wrong if a state is overtaken again and again.
var contestedMessage = fmt.Sprintf("The CronJob's status was written by another workflow or client %d times within a minute: "+
	"let one installation of Ostinato run the CronJob, and nothing else write its status", contestedBy)

// Overtaken is what becomes of a state when the object has a later one.
type Overtaken struct {
	State State
	// Dropped says that what the workflow has heard is of the past too, and is not to be carried out again.
	Dropped bool
	// Leapt says that it goes on, with another revision.
	Leapt bool
}

// BeginAnew returns what becomes of a state that the object's status has overtaken, given the state as NewState makes it from
// the object.
//
// A status that is ahead by few writes, of the generation that the state knows or by one write, and that names no run that the
// state does not know, is most often of a workflow task that was lost after these writes: what was heard is still to be done, but for
// the triggers that a single write says were skipped.
// Otherwise Temporal was restored or the workflow was reset, and what it heard was carried out already. A revision that cannot
// have been counted up to is taken over once, with nothing else.
// heard names what the workflow has heard and not done yet, for the Event that answers it.
// generation is that of the spec which the old state was planned with, or GenerationOfReset.
func BeginAnew(old, anew State, status ostinatov1.CronJobStatus, generation int64, heard []string, now time.Time) Overtaken {
	ahead := status.Revision - old.Basis.Revision
	if ahead > maxLeap && !old.Leapt {
		old.Basis, old.Leapt = Basis{Revision: status.Revision}, true
		return Overtaken{State: old, Leapt: true}
	}
	anew.Overtaken = append(slices.DeleteFunc(slices.Clone(old.Overtaken), func(at time.Time) bool {
		return now.Sub(at) > contestedWithin
	}), now.UTC())
	anew.Overtaken = anew.Overtaken[max(len(anew.Overtaken)-contestedBy, 0):]
	anew.Leapt, anew.Outbox = old.Leapt, slices.Concat(old.Outbox, anew.Outbox)
	anew.TriggerSequence = max(old.TriggerSequence, anew.TriggerSequence)
	if pending := old.Pending; pending != nil && !pending.Unclear.IsZero() && pending.Scheduled.After(times.Later(anew.Settled, anew.LastScheduled)) {
		anew.Pending = pending
	}
	anew = anew.unclearAs(old)
	result := Overtaken{}
	lost := int64(maxLost)
	if len(status.RecentRuns) == 0 {
		// The status does not tell which runs have ended since, as that of a CronJob of batch/v1: only one write can't have more.
		lost = 1
	}
	skipped, isKnown := old.skippedBy(status)
	isKnown = isKnown && old.knowsRunsOf(status)
	// The task that has written one status may have heard of an edit first, and have skipped triggers.
	isLost := ahead <= lost && (ahead == 1 || status.ObservedGeneration <= generation && len(skipped) == 0)
	if generation == GenerationOfReset {
		isLost = ahead == 0
	}
	if isLost && isKnown {
		anew.Triggers, anew.Backfills, anew.Suspension = old.Triggers, old.Backfills, old.Suspension
		// The task that is lost may have found the Job of one.
		anew.Triggers = slices.DeleteFunc(slices.Clone(anew.Triggers), func(trigger Trigger) bool {
			row, isSkipped := skipped[trigger.Sequence]
			if isSkipped {
				anew.Ledger = anew.Ledger.Numbered(row, trigger.Sequence)
			}
			return isSkipped || anew.Ledger.HasAsked(names.TriggeredJob(anew.Name, anew.UID, trigger.Sequence))
		})
		if firstOf(status.Conditions, isSuspended) == nil {
			// Otherwise the task that is lost has forgiven all of them.
			anew.Forgiven = min(old.Forgiven, anew.ConsecutiveFailures)
		}
		// The status does not say which backfill a run is of.
		for i := range anew.Active {
			known := old.activeIndex(anew.Active[i])
			if known >= 0 {
				anew.Active[i].Backfill = old.Active[known].Backfill
			}
		}
		anew = anew.withTimesOf(old)
	} else {
		result.Dropped = true
		// The workflow may have sent more than the old state knows.
		anew = anew.AfterAnother(now)
		anew = Announce(anew, event.Warning(event.StatusOvertaken, "The workflow's state in Temporal is older than the CronJob's status: "+
			"Temporal was restored, or the workflow was reset. It begins anew from the CronJob"+forgotten(old, heard)))
	}
	if Contested(anew, now) {
		anew = Announce(anew, event.Warning(event.StatusContested, contestedMessage))
	}
	result.State = anew
	return result
}

// withTimesOf returns the state, which was just read from the object, with what an earlier state knows of scheduled times that have no
// run by the status: which of them wait, which are still to come, and which were skipped while an earlier time waited.
func (s State) withTimesOf(old State) State {
	settled := s.Settled
	if settled.IsZero() {
		// A status of batch/v1 says no more.
		settled = s.LastScheduled
	}
	isOver := func(scheduled time.Time) bool {
		return !scheduled.After(settled) || scheduled.Equal(s.LastScheduled) || s.Ledger.HasRunOf(scheduled) ||
			slices.ContainsFunc(s.Active, func(run Run) bool { return !run.Manual && run.Scheduled.Equal(scheduled) })
	}
	s.Calendar = old.Calendar
	p := &pass{state: s.clone()}
	p.setQueue(slices.DeleteFunc(p.state.queue(), isOver))
	calendar := &p.state.Calendar
	calendar.Upcoming = slices.DeleteFunc(slices.Clone(calendar.Upcoming), isOver)
	calendar.Missed = slices.DeleteFunc(calendar.Missed, func(missed MissedRuns) bool { return isOver(missed.Last) })
	if old.Pending != nil && !isOver(old.Pending.Scheduled) {
		p.state.Pending = old.Pending
	}
	p.state.Ledger = p.state.Ledger.WithSkipped(old.Ledger, settled)
	p.state.Settled = times.Later(s.Settled, old.Settled)
	return p.state
}

// unclearAs returns the state with what another one knows of creates that may still be carried out: no status says that.
func (s State) unclearAs(other State) State {
	s = s.clone()
	for index := range s.Active {
		run := &s.Active[index]
		run.Unclear = times.Later(run.Unclear, other.unclearUntil(*run))
	}
	for index := range s.Finished {
		run := &s.Finished[index].Run
		run.Unclear = times.Later(run.Unclear, other.unclearUntil(*run))
	}
	for index := range s.Recovered {
		run := &s.Recovered[index].Run
		run.Unclear = times.Later(run.Unclear, other.unclearUntil(*run))
	}
	return s
}

// knowsRunsOf reports whether the state knows all runs that the status names.
func (s State) knowsRunsOf(status ostinatov1.CronJobStatus) bool {
	for _, active := range status.Active {
		// Others may have deleted its Job since.
		if !s.Knows(Run{Name: active.Name, UID: string(active.UID)}) && !s.Ledger.Has(active.Name) {
			return false
		}
	}
	return !slices.ContainsFunc(status.RecentRuns, func(row ostinatov1.RecentRun) bool {
		return row.JobName != "" && !s.Ledger.Has(row.JobName) && !s.Knows(Run{Name: row.JobName})
	})
}

// skippedBy returns the rows of triggers that the status says were skipped and the state has still to do, by their numbers. A task that
// was lost has heard of the same triggers at an earlier time, in the same order. isKnown is false if the status has a row of another
// manual run without a Job that the state does not know.
func (s State) skippedBy(status ostinatov1.CronJobStatus) (skipped map[int64]ostinatov1.RecentRun, isKnown bool) {
	skipped = map[int64]ostinatov1.RecentRun{}
	// Each row is of one run: several may be of the same second.
	rows := slices.Clone(s.Ledger.Entries)
	for _, row := range slices.Backward(status.RecentRuns) {
		if row.JobName != "" || !row.Manual {
			continue
		}
		at := slices.IndexFunc(rows, func(entry ledger.Entry) bool {
			return entry.Manual && string(entry.Outcome) == row.Outcome && entry.Scheduled.Equal(row.ScheduledTime.Time)
		})
		if at >= 0 {
			rows = slices.Delete(rows, at, at+1)
			continue
		}
		trigger := firstOf(s.Triggers, func(trigger Trigger) bool {
			_, isOther := skipped[trigger.Sequence]
			return !isOther && trigger.isSkippedAs(row)
		})
		if trigger == nil {
			return nil, false
		}
		skipped[trigger.Sequence] = row
	}
	return skipped, true
}

// isSkippedAs reports whether the row may be that of the trigger, skipped at this time or an earlier one.
func (t Trigger) isSkippedAs(row ostinatov1.RecentRun) bool {
	own := t.entry(ledger.SkippedOverlap, ledger.ReasonJobAlreadyActive, t.At).Bounded().RecentRun()
	isLater := own.ScheduledTime.Before(&row.ScheduledTime)
	own.ScheduledTime = row.ScheduledTime
	return !isLater && own == row && t.Unclear.IsZero()
}

// forgotten says what a state that was overtaken had still to do.
func forgotten(old State, heard []string) string {
	what := slices.Clone(heard)
	for _, trigger := range old.Triggers {
		asked := "the trigger of " + times.Format(trigger.At)
		if !trigger.Unclear.IsZero() {
			asked += " (if there is no Job " + names.TriggeredJob(old.Name, old.UID, trigger.Sequence) + ")"
		}
		what = append(what, asked)
	}
	for _, backfill := range old.Backfills {
		what = append(what, "the backfill of "+times.Format(backfill.At))
	}
	if len(what) == 0 {
		return ""
	}
	return "; send again what it had not done: " + strings.Join(what[:min(len(what), 10)], ", ")
}

// Contested reports whether a state was overtaken so often that others must be at work: its workflow waits before it reads anew.
func Contested(state State, now time.Time) bool {
	return len(state.Overtaken) == contestedBy && now.Sub(state.Overtaken[contestedBy-1]) <= contestedWithin
}

// contested reports whether other states overtake the CronJob's again and again.
func (s State) contested(now time.Time) bool {
	return len(s.Overtaken) == contestedBy && now.Sub(s.Overtaken[0]) <= contestedFor
}
