package schedule

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// defaultQueueLimit stands in for spec.queueLimit.
	defaultQueueLimit = 10
	// defaultCatchUpLimit stands in for spec.catchUpLimit.
	defaultCatchUpLimit = 100
	// maxWaiting bounds both.
	maxWaiting = 1000
	// maxInState bounds all that waits, also before an edit of the limits drops some.
	maxInState = 4 * maxWaiting
)

// catchesUpAll reports whether all missed runs are started. Under Replace they would replace one another.
func (s Spec) catchesUpAll() bool {
	return s.CatchUp == ostinatov1.CatchUpAll && s.ConcurrencyPolicy != batchv1.ReplaceConcurrent
}

// caughtUp returns which of the ascending times that have come since the last look get their runs, the last of them, and
// why those before are not caught up; empty where a later one took their place.
func (s Spec) caughtUp(came []time.Time, now time.Time) (kept []time.Time, why string) {
	first := len(came)
	for first > 0 && len(came)-first < s.maxCaughtUp() && s.mayCatchUp(came[first-1], now) {
		first--
	}
	switch {
	case first == 0:
	case !s.mayCatchUp(came[first-1], now):
		why = ledger.ReasonNotCaughtUp
	case s.catchesUpAll():
		why = ledger.ReasonCatchUpLimit
	}
	return came[first:], why
}

// maxCaughtUp is how many scheduled times caughtUp keeps at most, the newest.
func (s Spec) maxCaughtUp() int {
	if s.catchesUpAll() {
		return limit(s.CatchUpLimit, defaultCatchUpLimit)
	}
	return 1
}

// mayCatchUp reports whether the run of a scheduled time may start, late as it is.
func (s Spec) mayCatchUp(scheduled, now time.Time) bool {
	switch {
	case prompt(scheduled, now):
		return true
	case s.CatchUp == ostinatov1.CatchUpNone:
		return false
	case s.CatchUpWindowSeconds != nil:
		return now.Truncate(time.Second).Sub(scheduled) <= deadline(*s.CatchUpWindowSeconds)
	}
	return true
}

// lateAfter is how long after its scheduled time a run may start and not be late.
const lateAfter = time.Minute

// prompt reports whether a scheduled time is noticed in time, so that it was not missed.
func prompt(scheduled, now time.Time) bool { return now.Sub(scheduled) <= lateAfter }

// lastLate returns the last of the times that were not noticed in time; zero if all were.
func lastLate(came []time.Time, now time.Time) time.Time {
	for _, scheduled := range slices.Backward(came) {
		if !prompt(scheduled, now) {
			return scheduled
		}
	}
	return time.Time{}
}

// limit is a limit of the spec's with its default and its bound.
func limit(value int32, otherwise int) int {
	if value <= 0 {
		return otherwise
	}
	return min(int(value), maxWaiting)
}

// advance takes in the upcoming times that have come.
func (p *pass) advance() {
	passed, upcoming := times.Split(p.state.Calendar.Upcoming, p.now)
	if len(passed) == 0 {
		return
	}
	p.state.Calendar.Upcoming = upcoming
	kept, why := p.spec.caughtUp(passed, p.now)
	p.missAll(passed[:len(passed)-len(kept)], why)
	p.receiveTimes(nil, kept, lastLate(kept, p.now))
}

// receiveTimes takes in scheduled times that have come, ascending: missed ones, then those to be started, which up to caughtUp
// are late. If runs start in order, they queue; otherwise the last one replaces the time that was due.
func (p *pass) receiveTimes(missed []MissedRuns, kept []time.Time, caughtUp time.Time) {
	p.state.Calendar.Missed = append(p.state.Calendar.Missed, missed...)
	if !p.spec.inOrder() {
		p.missAll(p.state.queue(), "")
		p.setQueue(append(p.state.queue(), kept[max(len(kept)-1, 0):]...))
		return
	}
	p.state.Calendar.CaughtUp = times.Later(p.state.Calendar.CaughtUp, caughtUp)
	for _, scheduled := range kept {
		if !p.spec.queues() && scheduled.After(caughtUp) {
			// It replaces one before it that was held back. Those that are caught up stay.
			_, came := times.Split(p.state.queue(), p.state.Calendar.CaughtUp)
			p.missAll(came, ledger.ReasonJobAlreadyActive)
		}
		p.setQueue(append(p.state.queue(), scheduled))
	}
}

// single is a missed time by itself.
func single(scheduled time.Time, reason string) MissedRuns {
	return MissedRuns{times.Stretch{First: scheduled, Last: scheduled, Count: 1}, reason}
}

// compare orders by time.
func (m MissedRuns) compare(other MissedRuns) int { return m.First.Compare(other.First) }

// queue returns the scheduled times that have come and wait to be started, ascending.
func (s State) queue() []time.Time {
	if s.Calendar.Due.IsZero() {
		return nil
	}
	return append([]time.Time{s.Calendar.Due}, s.Calendar.Waiting...)
}

// setQueue replaces them: the first is the due one.
func (p *pass) setQueue(waiting []time.Time) {
	if p.state.Calendar.Due, p.state.Calendar.Waiting = (time.Time{}), nil; len(waiting) > 0 {
		p.state.Calendar.Due, p.state.Calendar.Waiting = waiting[0], append([]time.Time(nil), waiting[1:]...)
	}
}

// takeOut takes a time out of those that wait.
func (p *pass) takeOut(scheduled time.Time) {
	p.setQueue(slices.DeleteFunc(p.state.queue(), scheduled.Equal))
}

// missAll makes times missed ones, which no longer wait. One that holds its place is, if its Job turns out to be missing.
func (p *pass) missAll(waiting []time.Time, reason string) {
	for _, scheduled := range waiting {
		if p.state.holds(scheduled) {
			p.state.Pending.Over, p.state.Pending.OverWhy = true, reason
			continue
		}
		p.takeOut(scheduled)
		p.state.Calendar.Missed = append(p.state.Calendar.Missed, single(scheduled, reason))
	}
}

// dropOverflow makes room in a queue that has become too long: the oldest are missed.
func (p *pass) dropOverflow() {
	if !p.spec.inOrder() {
		return
	}
	caught, came := times.Split(p.state.queue(), p.state.Calendar.CaughtUp)
	// A run that can start at once does not wait.
	free := maxWaiting
	if capacity := p.spec.Capacity(); capacity > 0 {
		free = max(capacity-len(p.state.Active)-len(caught), 0)
	}
	p.missAll(came[:max(len(came)-limit(p.spec.QueueLimit, defaultQueueLimit)-free, 0)], ledger.ReasonQueueFull)
	p.missAll(caught[:max(len(caught)-maxWaiting, 0)], ledger.ReasonCatchUpLimit)
}

// dropLate makes due runs missed ones when their starting deadline has passed.
func (p *pass) dropLate() {
	for due := p.state.Calendar.Due; !due.IsZero() && tooLate(p.spec, due, p.now) && !p.state.holds(due); due = p.state.Calendar.Due {
		found := p.state.recoveredFor(single(due, "")) != nil
		if !found && p.notStarted(single(due, "")).Reason != ledger.ReasonSuspended {
			p.emit(event.Warning("MissSchedule", "Missed scheduled time to start a job: "+due.UTC().Format(time.RFC1123Z)))
		}
		p.missAll([]time.Time{due}, "")
	}
}

// tooLate reports whether startingDeadlineSeconds excludes a run, in whole seconds: a deadline of 0 means on time.
func tooLate(spec Spec, scheduled, now time.Time) bool {
	return spec.StartingDeadlineSeconds != nil && now.Truncate(time.Second).Sub(scheduled) > deadline(*spec.StartingDeadlineSeconds)
}

// deadline converts startingDeadlineSeconds without overflow: a century is as good as none.
func deadline(seconds int64) time.Duration {
	const century = 100 * 366 * 24 * 3600
	return time.Duration(min(seconds, century)) * time.Second
}

// disband leaves only the latest of the runs that wait, where the CronJob no longer asks for an order.
func (p *pass) disband() {
	waiting := p.state.queue()
	for _, scheduled := range waiting[:max(len(waiting)-1, 0)] {
		if p.state.holds(scheduled) {
			p.missAll([]time.Time{scheduled}, ledger.ReasonPolicyChanged)
			continue
		}
		p.recordOutcome(single(scheduled, "").entry(ledger.Entry{Recorded: p.now, Outcome: ledger.SkippedSuperseded, Reason: ledger.ReasonPolicyChanged}))
	}
	p.state.Calendar.CaughtUp = time.Time{}
}

// announceQueue announces and counts what has begun to wait since the last time. What starts now does not wait.
func (p *pass) announceQueue() {
	_, fresh := times.Split(p.state.queue(), p.state.Calendar.Announced)
	if start := p.plan.Start; start != nil && !start.Manual {
		fresh = slices.DeleteFunc(fresh, start.Scheduled.Equal)
	}
	if !p.spec.inOrder() || len(fresh) == 0 {
		return
	}
	p.state.Calendar.Announced = fresh[len(fresh)-1]
	p.state.Ledger = p.state.Ledger.Count(ledger.Queued, int64(len(fresh)))
	if p.state.atCapacity(p.spec) {
		p.emit(alreadyActive(p.spec))
	}
}

// queued returns the entry of the runs that wait for others to end, if one does.
func (s State) queued() []ledger.Entry {
	waiting, _ := times.Split(s.queue(), s.Calendar.Announced)
	if len(waiting) == 0 {
		return nil
	}
	reason, message := s.delay(waiting[0]).why()
	entry := MissedRuns{Stretch: times.Stretch{First: waiting[0], Last: waiting[len(waiting)-1], Count: int64(len(waiting))}}.entry(
		ledger.Entry{Outcome: ledger.Queued, Reason: cmp.Or(reason, ledger.ReasonJobAlreadyActive), Message: clip.Message(message)})
	return []ledger.Entry{entry}
}

// CountRequests returns the state of a CronJob whose status counts what people have asked for and waits.
func CountRequests(state State) State {
	state.CountsRequests = true
	return state
}

// backlog is how many runs wait for others to end, or to be asked for again: scheduled ones, and those that people have asked for.
func (s State) backlog() (count int64) {
	rows := s.queued()
	if s.CountsRequests {
		rows = append(rows, s.requested()...)
	}
	for _, row := range rows {
		count += row.Times()
	}
	return count
}

// Rows returns the ledger with the runs that wait as its last entry.
func (s State) Rows() []ledger.Entry { return append(slices.Clip(s.Ledger.Entries), s.queued()...) }

// PageOf returns the rows that are asked for, with those of what waits.
func PageOf(state State, question ledger.Question) ledger.Page {
	return state.Ledger.Page(question, append(state.queued(), state.requested()...))
}

// accounted returns the time up to which each scheduled time has its outcome.
func (s State) accounted() time.Time {
	if waiting := s.queue(); len(waiting) > 0 && !waiting[0].After(s.Settled) {
		return waiting[0].Add(-time.Second)
	}
	return s.Settled
}
