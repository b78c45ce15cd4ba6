package schedule

import (
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// unclearFor is how long after a create without a clear answer its Job may appear: the API server works on it for 34 s.
	unclearFor = 35 * time.Second
	// maxUnclearRetry bounds the back-off of such a create. The API server is asked sooner again than after a refusal, which
	// takes a person to end.
	maxUnclearRetry = 10 * time.Second
)

// AfterAnother returns the state, which was just read from the object, of a CronJob that another workflow has run: a create that
// it has sent may still be carried out. So a Job that was found is neither pruned nor replaced before, and made again.
func (s State) AfterAnother(now time.Time) State {
	if s.Basis.Revision == 0 {
		return s
	}
	s = s.clone()
	s.Unsure = now.UTC().Add(unclearFor)
	for index := range s.Active {
		run := &s.Active[index]
		run.Unclear = times.Later(run.Unclear, s.Unsure)
	}
	for index := range s.Finished {
		run := &s.Finished[index].Run
		run.Unclear = times.Later(run.Unclear, s.Unsure)
	}
	return s
}

// held is a run whose create had no clear answer. It holds its place: nothing else starts, and its time gets no other outcome,
// until its Job is found, or is missing when none can appear any more.
type held struct {
	start Start
	delay *Delay
	// wanted says that the run may still start: it is asked for again, under the same name.
	wanted bool
}

// held returns the run that holds its place; nil if there is none.
func (p *pass) held() *held {
	if pending := p.state.Pending; pending != nil && !pending.Unclear.IsZero() {
		// The state may have begun anew from a CronJob whose schedule no longer names the time.
		named := p.state.waits(Run{Scheduled: pending.Scheduled})
		wanted := !pending.Over && named && p.mayStartDue() && !tooLate(p.spec, pending.Scheduled, p.now)
		return p.holding(p.startOf(pending.Scheduled), &pending.Delay, wanted)
	}
	for index := range p.state.Triggers {
		if trigger := &p.state.Triggers[index]; !trigger.Unclear.IsZero() {
			return p.holding(p.triggered(*trigger), &trigger.Delay, !trigger.Cancelled)
		}
	}
	for index := range p.state.Backfills {
		if backfill := &p.state.Backfills[index]; !backfill.Unclear.IsZero() {
			wanted := !backfill.Cancelled && p.spec.runsAt(backfill.Schedule, backfill.TimeZone) && p.mayBackfill(*backfill)
			return p.holding(backfill.start(p.state.Identity), &backfill.Delay, wanted)
		}
	}
	return nil
}

// holding returns the run with a start that holds its place. An edit may have left no room for it.
func (p *pass) holding(start Start, delay *Delay, wanted bool) *held {
	return &held{start, delay, wanted && !p.state.atCapacity(start.Under(p.spec))}
}

// asks reports whether the run is asked for again before its Job is looked for.
func (h held) asks() bool { return h.wanted && h.delay.Retry.Until.Before(h.delay.Unclear) }

// resumeAt returns when the run is asked or looked for next.
func (h held) resumeAt() time.Time {
	if h.asks() {
		return h.delay.Retry.Until
	}
	return h.delay.Unclear
}

// holds reports whether the run of a scheduled time holds its place.
func (s State) holds(scheduled time.Time) bool { return !s.delay(scheduled).Unclear.IsZero() }

// chooseHeld asks or looks for the run that holds its place; it reports whether there is one.
func (p *pass) chooseHeld() bool {
	held := p.held()
	if held == nil {
		return false
	}
	if !p.now.Before(held.resumeAt()) {
		p.plan.Start, p.plan.Find = &held.start, !held.asks()
	}
	return true
}

// startOf returns the start of the run of a scheduled time.
func (p *pass) startOf(due time.Time) Start {
	start := Start{Name: names.ScheduledJob(p.state.Name, due), Scheduled: due, Before: p.startBefore(due)}
	start.WhyLate, start.LateMessage = p.whyLate(due, ledger.ReasonOutage)
	return start
}

// delayOf returns what holds up the run of a start; nil if it waits no longer.
func (p *pass) delayOf(start Start) *Delay {
	trigger, backfill := p.state.trigger(start.Sequence), p.state.backfill(start.Backfill)
	switch {
	case !start.Manual && p.state.Pending != nil:
		return &p.state.Pending.Delay
	case backfill != nil:
		return &backfill.Delay
	case start.Manual && start.Backfill == 0 && trigger != nil:
		return &trigger.Delay
	}
	return nil
}

// unclearUntil returns until when another create of a run's Job may be carried out; zero if none may.
func (s State) unclearUntil(run Run) time.Time {
	if index := s.activeIndex(run); index >= 0 {
		return s.Active[index].Unclear
	}
	if finished := firstOf(s.Finished, func(other Finished) bool { return sameRun(other.Run, run) }); finished != nil {
		return finished.Run.Unclear
	}
	if !run.Manual {
		return s.delay(run.Scheduled).Unclear
	}
	for _, trigger := range s.Triggers {
		if names.TriggeredJob(s.Name, s.UID, trigger.Sequence) == run.Name {
			return trigger.Unclear
		}
	}
	for _, backfill := range s.Backfills {
		if backfill.start(s.Identity).Name == run.Name {
			return backfill.Unclear
		}
	}
	return time.Time{}
}

// unclearJob returns the name of the Job of the run that holds its place; empty if none does.
func (s State) unclearJob() string {
	if p := s.Pending; p != nil && !p.Unclear.IsZero() {
		return names.ScheduledJob(s.Name, p.Scheduled)
	}
	for _, trigger := range s.Triggers {
		if !trigger.Unclear.IsZero() {
			return names.TriggeredJob(s.Name, s.UID, trigger.Sequence)
		}
	}
	for _, backfill := range s.Backfills {
		if !backfill.Unclear.IsZero() {
			return backfill.start(s.Identity).Name
		}
	}
	return ""
}

// keptUntil returns until when the Job is not pruned: another create of it may be carried out until then. A run that began late may have
// been asked for when it was due, by a workflow that Temporal does not know any more since it was restored.
func (f Finished) keptUntil() time.Time {
	if f.Run.Started.After(f.Run.Scheduled) {
		return times.Later(f.Run.Unclear, f.Run.Started.Add(unclearFor))
	}
	return f.Run.Unclear
}

// applyUnclear takes in that it is open whether a run's Job was made. If no create was sent, it was not. A manual run with an answer
// is put off as a refused one is, so that the schedule goes on between its attempts.
func (p *pass) applyUnclear(plan Plan, report Report) {
	start := *plan.Start
	delay := p.delayOf(start)
	if delay == nil {
		return
	}
	if plan.Find {
		delay.Unclear = times.Later(delay.Unclear, p.now.Add(maxUnclearRetry))
		return
	}
	if !report.Unsent {
		delay.Unclear = p.now.Add(unclearFor)
	}
	switch {
	case report.Message == "" || !start.Manual:
		delay.Retry = delay.Retry.soon(p.now)
	case delay.Reason == "":
		// Attempts without an answer do not count.
		delay.Retry = Backoff{}.Next(p.now)
	default:
		delay.Retry = delay.Retry.Next(p.now)
	}
	if report.Message != "" {
		delay.Reason, delay.Message = ledger.ServerError, report.Message
	}
}

// soon returns the back-off after one more attempt that leaves it open whether a run has started: 1 s, doubling to 10 s.
func (b Backoff) soon(now time.Time) Backoff {
	return Backoff{Attempts: b.Attempts + 1, Until: now.Add(min(time.Second<<min(b.Attempts, 5), maxUnclearRetry))}
}

// applyMissing takes in that a run has no Job, and that none can appear any more.
func (p *pass) applyMissing(start Start) {
	delay := p.delayOf(start)
	if delay == nil {
		return
	}
	over, why, retry := delay.Over, delay.OverWhy, delay.Retry
	delay.Unclear, delay.Over, delay.OverWhy, delay.Retry = time.Time{}, false, "", Backoff{}
	switch {
	case start.Manual && delay.Reason == "":
	case start.Manual && retry.Attempts < triggerAttempts:
		delay.Retry = retry
	case start.Manual:
		p.giveUp(start, start.row(ledger.FailedToCreate, delay.Reason, delay.Message, p.now))
	case over:
		p.missAll([]time.Time{start.Scheduled}, why)
	case !p.state.waits(start.run(Run{})) && !p.state.Suspension.lasts():
		// The state began anew from a CronJob whose schedule was edited meanwhile.
		p.missAll([]time.Time{start.Scheduled}, ledger.ReasonScheduleChanged)
	}
}
