package schedule

import (
	"slices"
	"time"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/times"
)

// upcomingTimes is how many scheduled times are computed ahead: the workflow records them together, once.
const upcomingTimes = 10

// Zone data change: a time that was computed long ago may no longer be when the zone's clocks show it. So a time further away
// than keptFor is not acted on. It says when the next run is, and is computed again recheckBefore it, far enough ahead for any
// change of summer time, and every recheckEvery. Runs closer to one another than keptFor cost no wake for this.
const (
	keptFor       = 12 * time.Hour
	recheckBefore = 2 * time.Hour
	recheckEvery  = 30 * 24 * time.Hour
)

// lookUpEvery is how often an unknown time zone is looked up: another worker, or this one restarted, may know it.
const lookUpEvery = time.Hour

// tooManyMissed is upstream's bound for its warning.
const tooManyMissed = 100

// base returns the point from which "@every" counts, and whether that is a run.
func (s State) base() (base time.Time, ran bool) {
	if s.LastScheduled.IsZero() {
		return s.Created, false
	}
	return s.LastScheduled, true
}

// recordedUntil returns the time up to which the state has every scheduled time: settled, missed or waiting. A run that may have
// started has the name of its minute, which no later time of that minute can have.
func (s State) recordedUntil() time.Time {
	until, _ := s.base()
	until = times.Later(until, s.Settled)
	for _, waiting := range s.queue() {
		until = times.Later(until, waiting)
		if s.holds(waiting) {
			until = times.Later(until, waiting.Truncate(time.Minute).Add(time.Minute-time.Nanosecond))
		}
	}
	for _, missed := range s.Calendar.Missed {
		until = times.Later(until, missed.Last)
	}
	return times.Later(until, times.Dawn)
}

// apart returns the times, ascending, that are not to be summed up with others.
func (s State) apart() []time.Time {
	var apart []time.Time
	for _, recovered := range s.Recovered {
		apart = append(apart, recovered.Run.Scheduled)
	}
	if s.Pending != nil {
		apart = append(apart, s.Pending.Scheduled)
	}
	return ascending(apart, nil)
}

// formerQueue returns the times that wait and may be those of former schedules.
func (s State) formerQueue() []time.Time {
	if len(s.Calendar.Former) == 0 {
		return nil
	}
	return s.queue()
}

// Evaluation is the part of a decision that depends on the time zone database. The workflow records it in a SideEffect.
type Evaluation struct {
	Schedule string  `json:"schedule,omitempty"`
	TimeZone *string `json:"timeZone,omitempty"`
	// Problem is set when the schedule can't be used; it then names no time, not even one that waits or is missed.
	Problem *times.Problem `json:"problem,omitempty"`
	// Due is the latest scheduled time that has come and was not recorded; zero if none has, or too long ago to be caught up.
	Due time.Time `json:"due,omitzero"`
	// Waiting are those before Due that are to be started too, ascending.
	Waiting []time.Time `json:"waiting,omitempty"`
	// CaughtUp is the last of these and Due that was noticed late.
	CaughtUp time.Time `json:"caughtUp,omitzero"`
	// Missed sums up the scheduled times before those that were not recorded, ascending.
	Missed []MissedRuns `json:"missed,omitempty"`
	// Unnamed are the times that wait from former schedules and that the schedule does not name.
	Unnamed []time.Time `json:"unnamed,omitempty"`
	// TooMany is set where more than 100 times have come.
	TooMany bool `json:"tooMany,omitempty"`
	// Upcoming are the next scheduled times after now, ascending: those that come soon, or else the first alone.
	Upcoming []time.Time `json:"upcoming,omitempty"`
	// Recheck is when to compute Upcoming again, or to look up the time zone; zero when Upcoming comes soon, and where
	// only an edit can end the Problem.
	Recheck time.Time `json:"recheck,omitzero"`
	// Lead is how long before its time to wake for a run of Upcoming, MaxLead at most: a worker's setting, not Evaluate's.
	Lead time.Duration `json:"lead,omitempty"`
}

// MissedRuns is a stretch of scheduled times that passed.
type MissedRuns struct {
	times.Stretch
	// Reason says why they are not started, where it is known already.
	Reason string `json:"reason,omitempty"`
}

// Evaluate computes the scheduled times around now, from where the state's end. Its work is bounded for every schedule
// and every distance between the two.
//
// Due is exact for irregular schedules too, where upstream's estimate of the number of missed runs can overshoot and
// lose the run (parity 1.4).
func Evaluate(spec Spec, state State, now time.Time) Evaluation {
	calculator, problem := times.Parse(spec.Schedule, spec.TimeZone)
	if problem != nil {
		return unusable(spec, problem, state, now)
	}
	line := calculator.Line(state.base())
	evaluation := Evaluation{
		Schedule: spec.Schedule, TimeZone: spec.TimeZone, Unnamed: slices.DeleteFunc(state.formerQueue(), line.Names),
	}
	both, changed, since := state.replaced(&line, max(spec.maxCaughtUp()+1, tooManyMissed), now)
	line = line.Following(both, since)
	after, apart := state.recordedUntil(), state.apart()
	if len(changed) > 0 {
		apart = ascending(apart, both)
	}
	evaluation.catchUp(line, spec, after, now, apart)
	came := evaluation.last()
	evaluation.look(line, times.Later(after, came), now)
	if came.IsZero() && len(evaluation.Upcoming) == 0 {
		return unusable(spec, calculator.NoTimes(), state, now)
	}
	late := after
	if spec.StartingDeadlineSeconds != nil {
		late = times.Later(after.UTC(), now.Add(-deadline(*spec.StartingDeadlineSeconds)))
	}
	evaluation.TooMany = !evaluation.Due.IsZero() && line.More(late, now, tooManyMissed)
	evaluation.Missed = append(changed, evaluation.Missed...)
	slices.SortStableFunc(evaluation.Missed, MissedRuns.compare)
	return evaluation
}

// unusable is the Evaluation of a schedule that names no time.
func unusable(spec Spec, problem *times.Problem, state State, now time.Time) Evaluation {
	evaluation := Evaluation{Schedule: spec.Schedule, TimeZone: spec.TimeZone, Problem: problem, Unnamed: state.formerQueue()}
	_, evaluation.Missed, _ = state.replaced(nil, 0, now)
	if problem.Reason == times.UnknownTimeZone {
		evaluation.Recheck = now.Add(lookUpEvery)
	}
	return evaluation
}

// last returns the most recent scheduled time that has come; zero if there is none.
func (e *Evaluation) last() time.Time {
	if missed := len(e.Missed) - 1; e.Due.IsZero() && missed >= 0 {
		return e.Missed[missed].Last
	}
	return e.Due
}

// look finds Upcoming and Recheck.
func (e *Evaluation) look(line times.Line, after, now time.Time) {
	soon := now.Add(keptFor)
	first := line.Next(after)
	for next := first; !next.IsZero() && len(e.Upcoming) < upcomingTimes; next = line.Next(next) {
		if next.After(soon) && next != first {
			break
		}
		e.Upcoming = append(e.Upcoming, next)
	}
	if first.After(soon) {
		e.Recheck = slices.MinFunc([]time.Time{first.Add(-recheckBefore), now.Add(recheckEvery)}, time.Time.Compare)
	}
}

// catchUp divides what has come and is not recorded: Missed, Waiting and Due.
func (e *Evaluation) catchUp(line times.Line, spec Spec, after, now time.Time, apart []time.Time) {
	kept, why := spec.caughtUp(line.Recent(after, now, spec.maxCaughtUp()+1), now)
	until := now
	if last := len(kept) - 1; last >= 0 {
		e.Waiting, e.Due = kept[:last:last], kept[last]
		until = kept[0].Add(-time.Second)
	}
	if spec.catchesUpAll() {
		e.CaughtUp = lastLate(kept, now)
	}
	for _, stretch := range line.Stretches(after, until, apart) {
		e.Missed = append(e.Missed, MissedRuns{stretch, why})
	}
}

// maxFormer bounds Calendar.Former: with more edits during a suspension, the oldest one's times count as the next one's.
const maxFormer = 10

// FormerSchedule is a schedule that an edit has replaced, kept while times that it named have no outcome.
type FormerSchedule struct {
	Schedule string  `json:"schedule"`
	TimeZone *string `json:"timeZone,omitempty"`
	// Until is when the workflow heard of the edit. The times up to then are this schedule's.
	Until time.Time `json:"until"`
}

// closeFormer forgets the former schedules once each of their times has its outcome; a suspension puts that off.
func (p *pass) closeFormer() {
	last := len(p.state.Calendar.Former) - 1
	if last < 0 || p.spec.Suspend || p.spec.Deleting || !p.state.Calendar.madeFor(p.spec) {
		return
	}
	until := p.state.Calendar.Former[last].Until
	if waiting := p.state.queue(); len(waiting) == 0 || waiting[0].After(until) {
		p.state.Settled, p.state.Calendar.Former = times.Later(p.state.Settled, until), nil
	}
}

// replaced returns the times that have come by former schedules and are not recorded: those that the present one names too,
// and the stretches of those that it does not; and from when on the present one counts alone. The present one is nil
// where it can't be used. Of the times that both name, no more than limit are told apart, the last ones.
func (s State) replaced(present *times.Line, limit int, now time.Time) (both []time.Time, changed []MissedRuns, since time.Time) {
	since = s.recordedUntil()
	for _, former := range s.Calendar.Former {
		until := slices.MinFunc([]time.Time{former.Until, now}, time.Time.Compare)
		calculator, problem := times.Parse(former.Schedule, former.TimeZone)
		if problem == nil && until.After(since) {
			line := calculator.Line(s.base())
			var named []time.Time
			if present != nil {
				named = line.Both(*present, since, until)
				named = named[max(len(named)-limit, 0):]
			}
			for _, stretch := range line.Stretches(since, until, ascending(s.apart(), named)) {
				if _, also := slices.BinarySearchFunc(named, stretch.First, time.Time.Compare); !also {
					changed = append(changed, MissedRuns{stretch, ledger.ReasonScheduleChanged})
				}
			}
			both = append(both, named...)
		}
		since = times.Later(since, until)
	}
	return both, changed, since
}

func ascending(a, b []time.Time) []time.Time {
	return slices.SortedFunc(slices.Values(slices.Concat(a, b)), time.Time.Compare)
}
