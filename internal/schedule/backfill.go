package schedule

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// maxBackfills bounds State.Backfills, maxBackfillTimes the times of each.
	maxBackfills     = 10
	maxBackfillTimes = 1000
	// maxBackfillParallelism bounds how many runs of a backfill are active at once.
	maxBackfillParallelism = 100
)

// BackfillRequest asks to run the template for past times of the schedule.
type BackfillRequest struct {
	// From is the beginning of the range of scheduled times, included: 2015 or later. The range has at most 1000 times.
	From time.Time `json:"from,omitzero"`
	// To is the end of the range, included. It must not be in the future.
	To time.Time `json:"to,omitzero"`
	// Parallelism is the number of its runs that may be active at once, from 1 to 100, and no more than overlap
	// or the CronJob allows. The default is 1.
	Parallelism int `json:"parallelism,omitempty"`
	// Overlap is Allow, Forbid, Replace or Queue, in place of the CronJob's concurrencyPolicy. By default that counts.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
	// DryRun asks for the answer only.
	DryRun bool `json:"dryRun,omitempty"`
	// Cancel ends every backfill of the CronJob: times that wait do not start. Send it alone, or with note and by.
	Cancel bool `json:"cancel,omitempty"`
	// Note says why, for the people who look later.
	Note string `json:"note,omitempty"`
	// By is the name of the sender, as claimed.
	By string `json:"by,omitempty"`
}

// Mistake says what the sender is to change; empty when nothing is. The times come from TimesBetween.
func (r BackfillRequest) Mistake(spec Spec, now time.Time) string {
	if r.Cancel {
		r.Note, r.By, r.Cancel = "", "", false
		if r != (BackfillRequest{}) {
			return "cancel ends all backfills: send it without from, to, parallelism, overlap and dryRun"
		}
		return ""
	}
	under := Start{Manual: true, Backfill: 1, Overlap: r.Overlap}.Under(spec)
	mistake := OverlapMistake(r.Overlap)
	switch {
	case r.From.IsZero() || r.To.IsZero():
		return `from and to are needed, such as {"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T23:59:59Z"}`
	case r.From.After(r.To):
		return fmt.Sprintf("from, %s, is after to, %s: exchange them", times.Format(r.From), times.Format(r.To))
	case r.To.After(now):
		return fmt.Sprintf("to, %s, is in the future: a backfill is of times that have passed, use %s at most", times.Format(r.To), times.Format(now))
	case r.From.Before(times.Dawn):
		return fmt.Sprintf("from, %s, is too long ago: use %s at least", times.Format(r.From), times.Format(times.Dawn))
	case r.Parallelism < 0 || r.Parallelism > maxBackfillParallelism:
		return fmt.Sprintf("parallelism is %d: use 1 to %d", r.Parallelism, maxBackfillParallelism)
	case mistake != "":
		return mistake
	case under.Capacity() > 0 && r.Parallelism > under.Capacity():
		return fmt.Sprintf(`parallelism is %d, and under concurrency policy %s no more than %d may run at once: ask for "overlap": "Allow", or for less`,
			r.Parallelism, under.ConcurrencyPolicy, under.Capacity())
	case spec.Deleting:
		return "the CronJob is being deleted"
	}
	return ""
}

// BackfillTimes are the times of the schedule in a range, or why there are none to run.
type BackfillTimes struct {
	Times   []time.Time `json:"times,omitempty"`
	Mistake string      `json:"mistake,omitempty"`
}

// TimesBetween returns the times of the schedule from one time to another, both included. "@every" counts as it does
// now. The answer depends on time zone data: workflows record it.
func TimesBetween(spec Spec, state State, from, to time.Time) BackfillTimes {
	calculator, problem := times.Parse(spec.Schedule, spec.TimeZone)
	if problem != nil {
		return BackfillTimes{Mistake: "the CronJob's schedule has no times: " + problem.Message}
	}
	between, ok := calculator.Line(times.Later(state.Created, state.LastScheduled), false).Between(from, to, maxBackfillTimes)
	switch {
	case !ok:
		return BackfillTimes{Mistake: fmt.Sprintf("there are more than %d times from %s to %s: split the range, the first %[1]d end at %[4]s",
			maxBackfillTimes, times.Format(from), times.Format(to), times.Format(between[maxBackfillTimes-1]))}
	case len(between) == 0:
		return BackfillTimes{Mistake: fmt.Sprintf("schedule %.80q names no time from %s to %s", spec.Schedule, times.Format(from), times.Format(to))}
	}
	return BackfillTimes{Times: between}
}

// Backfill is a list of past times that are run, one after the other, as manual runs.
type Backfill struct {
	// Trigger has what a backfill and a single manual run have in common. Its number and a time make the name of a Job; its
	// Delay is why the first of Times has not started.
	Trigger
	// Schedule and TimeZone are what the times were computed from.
	Schedule string  `json:"schedule"`
	TimeZone *string `json:"timeZone,omitempty"`
	// Times are those that have not started yet, ascending; Total is how many there were.
	Times []time.Time `json:"times"`
	Total int         `json:"total"`
	// Parallelism is how many of its runs may be active at once, where its policy is Allow.
	Parallelism int `json:"parallelism"`
}

// AddBackfill returns the state with one more backfill, of times that TimesBetween has found. NoRoom has let it in. user is who has
// asked for it, as far as that is known.
func AddBackfill(state State, spec Spec, request BackfillRequest, user string, found []time.Time, now time.Time) State {
	p := begin(state, spec, now)
	p.state.Backfills = append(p.state.Backfills, Backfill{
		Trigger: p.number(TriggerRequest{
			Note: request.Note, Overlap: request.Overlap,
			Asked: ledger.Asked{By: request.By, User: user, Through: ledger.ThroughUpdate},
		}.changing()),
		Schedule: spec.Schedule, TimeZone: spec.TimeZone, Times: slices.Clone(found), Total: len(found), Parallelism: max(request.Parallelism, 1),
	})
	return p.state
}

// CancelBackfills returns the state in which no time of a backfill starts any more. Runs that have started go on.
func CancelBackfills(state State) State {
	p := begin(state, Spec{}, time.Time{})
	for index := range p.state.Backfills {
		p.state.Backfills[index].Cancelled = true
	}
	return p.state
}

// NoRoom says why no backfill can be added beside the state's and others; empty if one can.
func NoRoom(state State, others int) string {
	if len(state.Backfills)+others < maxBackfills {
		return ""
	}
	return fmt.Sprintf(`%d backfills wait already: send this one when one of them is done, or {"cancel": true} to end them`, maxBackfills)
}

// start returns the start of the first time that waits.
func (b Backfill) start(cronJob Identity) Start {
	start, at := b.Trigger.start(), b.Times[0]
	start.Name, start.Scheduled = names.BackfilledJob(cronJob.Name, cronJob.UID, b.Sequence, at), at
	start.Backfill, start.Note = b.Sequence, backfillNote(b.Note)
	return start
}

// backfillNote is the message of a backfilled run's row.
func backfillNote(note string) string {
	if note == "" {
		return "backfill"
	}
	return "backfill: " + note
}

// entry returns the outcome of all of the times that wait.
func (b Backfill) entry(outcome ledger.Outcome, reason, message string, now time.Time) ledger.Entry {
	rest := MissedRuns{Stretch: times.Stretch{First: b.Times[0], Last: b.Times[len(b.Times)-1], Count: int64(len(b.Times))}}
	return rest.entry(Start{Manual: true, Sequence: b.Sequence, Asked: b.Asked}.row(outcome, reason, message, now))
}

// dropBackfills forgets the backfills that nothing is to start of any more.
func (p *pass) dropBackfills() {
	p.state.Backfills = slices.DeleteFunc(p.state.Backfills, func(backfill Backfill) bool {
		reason := ""
		switch {
		case !backfill.Unclear.IsZero() && !p.spec.Deleting:
			return false
		case p.spec.Deleting:
			reason = ledger.ReasonDeleting
		case backfill.Cancelled:
			reason = ledger.ReasonCancelled
		case !p.spec.runsAt(backfill.Schedule, backfill.TimeZone):
			reason = ledger.ReasonScheduleChanged
		default:
			return false
		}
		p.record(backfill.entry(ledger.SkippedSuperseded, reason, backfillNote(backfill.Note), p.now))
		return true
	})
}

// nextBackfill returns the backfill whose first time may start now; nil if there is none. Whatever else waits goes
// first: a backfill must not hold up the schedule.
func (p *pass) nextBackfill() *Backfill {
	if len(p.state.Backfills) == 0 || p.mayStartDue() || len(p.state.Triggers) > 0 || !p.mayBackfill(p.state.Backfills[0]) {
		return nil
	}
	return &p.state.Backfills[0]
}

// backfillStart returns the start of the next backfilled run, unless there is none or its retry has to wait.
func (p *pass) backfillStart() *Start {
	backfill := p.nextBackfill()
	if backfill == nil || p.now.Before(backfill.Retry.Until) {
		return nil
	}
	return new(backfill.start(p.state.Identity))
}

// settleBackfilled takes a time off its backfill; it reports whether it waited there.
func (p *pass) settleBackfilled(sequence int64, at time.Time) bool {
	backfill := p.state.backfill(sequence)
	if backfill == nil {
		return false
	}
	found := slices.IndexFunc(backfill.Times, at.Equal)
	if found < 0 {
		return false
	}
	if found == 0 {
		backfill.Delay = Delay{}
	}
	// The times are shared with other states.
	backfill.Times = slices.Concat(backfill.Times[:found], backfill.Times[found+1:])
	if len(backfill.Times) == 0 {
		p.dropBackfill(sequence)
	}
	return true
}

// backfill returns the backfill of a number; nil when it is done.
func (s State) backfill(sequence int64) *Backfill {
	return firstOf(s.Backfills, func(backfill Backfill) bool { return backfill.Sequence == sequence })
}

func (p *pass) dropBackfill(sequence int64) {
	p.state.Backfills = slices.DeleteFunc(p.state.Backfills, func(backfill Backfill) bool { return backfill.Sequence == sequence })
}

// validate reports whether the Backfill can be one that was carried over.
func (b Backfill) validate() error {
	switch mistake := OverlapMistake(b.Overlap); {
	case mistake != "":
		return fmt.Errorf("a backfill's %s", mistake)
	case len(b.Times) == 0 || len(b.Times) > maxBackfillTimes:
		return fmt.Errorf("a backfill has %d times, want 1 to %d", len(b.Times), maxBackfillTimes)
	case b.Parallelism < 1 || b.Parallelism > maxBackfillParallelism:
		return fmt.Errorf("a backfill's parallelism is %d, want 1 to %d", b.Parallelism, maxBackfillParallelism)
	case b.Sequence < 1 || b.Retry.Attempts < 0:
		return fmt.Errorf("a backfill's sequence is %d, its attempts are %d", b.Sequence, b.Retry.Attempts)
	}
	return nil
}
