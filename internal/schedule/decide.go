package schedule

import (
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/times"
)

const (
	// MaxDeletes bounds the Jobs that one plan deletes: a run replaces as many as a state carries over.
	MaxDeletes = maxCarried
	// MaxPruned bounds the history deletes of one plan; the next one goes on.
	MaxPruned = 50
)

// Plan is what Decide wants done; Apply takes in the result. Of an idle Plan, Next is the new state.
type Plan struct {
	// Start asks for at most one run.
	Start *Start
	// Find asks only whether the Job of Start is there.
	Find bool
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
	p := begin(state, spec, now)
	for _, step := range steps {
		step(p)
	}
	return p.plan
}

// steps are what a decision is made of, each with the reason why it stands there.
var steps = []func(*pass){
	(*pass).markSuspension,    // It bears on every outcome below.
	(*pass).forgive,           // Failures before a resume do not suspend again.
	(*pass).advance,           // What has come by now waits, or is missed.
	(*pass).dropOverflow,      // Of too many that wait the oldest are missed for that, and not for their deadline.
	(*pass).dropLate,          // The deadline ends what still waits.
	(*pass).adoptRecovered,    // A Job that was found counts, and its time was not missed.
	(*pass).settleMissed,      // All that was missed is known.
	(*pass).recordRecovered,   // The missed times have their rows.
	(*pass).closeFormer,       // Each time of a former schedule has its outcome.
	(*pass).dropBackfills,     // What is no longer wanted is given up before a start is chosen.
	(*pass).dropTriggers,      // So are triggers that were cancelled, and those of a CronJob that is being deleted.
	(*pass).chooseStart,       // Whatever could end a wait has been decided.
	(*pass).putOffReplacement, // It judges the start that was chosen.
	(*pass).announceQueue,     // What still waits, waits for others.
	(*pass).chooseDeletes,     // A start replaces runs; without one the history is pruned.
	(*pass).setConditions,     // They say what was settled.
	(*pass).chooseJudge,       // The conditions name the generation that was judged last.
	(*pass).chooseStatus,      // It has all of the above.
	(*pass).takeEvents,        // Any step may have announced something.
	(*pass).chooseWake,        // Any step may have put off a retry.
	(*pass).choosePause,       // It comes alone, when nothing else is left to do.
}

// pass is the working memory of one function that changes a state.
type pass struct {
	spec  Spec
	now   time.Time
	state State
	plan  Plan
	// replaceable is when the start that was chosen may replace runs, prunable when the first of the Jobs that are kept for now may go.
	replaceable, prunable time.Time
}

// begin returns a pass over a copy of the state.
func begin(state State, spec Spec, now time.Time) *pass {
	return &pass{spec: spec, now: now.UTC(), state: state.clone()}
}

func (p *pass) emit(e event.Event) { p.state.Outbox = append(p.state.Outbox, e) }

func (p *pass) takeEvents() {
	p.plan.Events, p.state.Outbox = p.state.Outbox[max(len(p.state.Outbox)-event.MaxPerRequest, 0):], nil
}

func (p *pass) choosePause() {
	if p.plan.Next = p.state; p.plan.Idle() {
		p.plan.Pause = p.pausing()
	}
}

func (p *pass) chooseDeletes() {
	switch {
	case p.plan.Find:
	case p.plan.Start != nil:
		p.plan.Deletes = p.state.replacements(p.plan.Start.Under(p.spec))
	default:
		p.plan.Deletes = p.prune()
	}
	p.plan.Deletes = p.plan.Deletes[:min(len(p.plan.Deletes), MaxDeletes)]
}

// chooseStart picks the run to start now: the due one or the first trigger's, whichever came first, then backfilled
// ones. A suspension does not stop manual runs. While it is open whether a run has started, no other does.
func (p *pass) chooseStart() {
	if p.spec.Deleting || p.chooseHeld() {
		return
	}
	due := p.dueStart()
	p.settleForbidden()
	manual := p.triggeredStart()
	switch {
	case manual != nil && (due == nil || p.nextTrigger().At.Before(due.Scheduled)):
		p.plan.Start = manual
	case due == nil:
		p.plan.Start = p.backfillStart()
	default:
		p.plan.Start = due
	}
}

// putOffReplacement gives up a start that replaces a run whose Job may still be made again.
func (p *pass) putOffReplacement() {
	if p.plan.Start == nil || p.plan.Find {
		return
	}
	p.replaceable = p.state.keptUntil(*p.plan.Start, p.spec)
	if p.now.Before(p.replaceable) {
		p.plan.Start = nil
	}
}

// mayStartDue reports whether a run is due and not suspended.
func (p *pass) mayStartDue() bool {
	return !p.state.Calendar.Due.IsZero() && !p.spec.Suspend && !p.pausing()
}

// dueStart returns the start of the due run, unless there is none, it waits for others, or its retry has to wait.
func (p *pass) dueStart() *Start {
	due, blocked := p.state.Calendar.Due, p.state.atCapacity(p.spec)
	if due.IsZero() || p.spec.Suspend || !blocked && p.pausing() {
		return nil
	}
	pending := &Pending{Scheduled: due, Delay: p.state.delay(due)}
	p.state.Pending = pending
	if blocked && !pending.Blocked && !p.spec.inOrder() {
		p.emit(alreadyActive(p.spec))
	}
	pending.Blocked = pending.Blocked || blocked
	if blocked || p.now.Before(pending.Retry.Until) {
		return nil
	}
	return new(p.startOf(due))
}

// startBefore returns when a due run may not start any more, as tooLate and advance will say then.
func (p *pass) startBefore(due time.Time) (before time.Time) {
	if len(p.state.Calendar.Upcoming) > 0 && !p.spec.inOrder() {
		before = p.state.Calendar.Upcoming[0]
	}
	if p.spec.StartingDeadlineSeconds != nil {
		end := due.Add(deadline(*p.spec.StartingDeadlineSeconds)).Add(time.Second)
		if before.IsZero() || end.Before(before) {
			before = end
		}
	}
	return before
}

// MaxLead bounds how long before its time a run is prepared. A signal accepted earlier than that is sure to win, unless another
// call is under way.
const MaxLead = 6 * time.Second

// Ahead returns the time of the next run, if it is time to prepare its start.
func Ahead(state State, spec Spec, now time.Time) (due time.Time, ok bool) {
	due = state.NextTime(spec)
	return due, now.Before(due) && !now.Before(due.Add(-state.lead())) && !state.atCapacity(spec)
}

// NextStart returns the next scheduled time after now, and when to prepare its start; both are zero where none is known.
func NextStart(state State, spec Spec, now time.Time) (due, prepare time.Time) {
	if state.NextTime(spec).IsZero() {
		return due, prepare
	}
	if _, upcoming := times.Split(state.Calendar.Upcoming, now); len(upcoming) > 0 {
		due = upcoming[0]
		prepare = due.Add(-state.lead())
	}
	return due, prepare
}

// DecideAhead says what Decide will say at the due time; ok is false unless that is to start the run. Nothing of it may be
// carried out before Start.Scheduled.
func DecideAhead(state State, spec Spec, due time.Time) (plan Plan, ok bool) {
	plan = Decide(state, spec, due)
	return plan, plan.Start != nil && !plan.Start.Manual && plan.Start.Scheduled.Equal(due)
}

// lead is how long before its time the next run is prepared, whatever a forged state says.
func (s State) lead() time.Duration { return min(max(s.Calendar.Lead, 0), MaxLead) }

// chooseWake finds the next time at which the plan can change by itself, and what it is for.
func (p *pass) chooseWake() {
	p.plan.WakeFor = "retry"
	earliest := func(reason string, moments ...time.Time) {
		for _, t := range moments {
			if t.After(p.now) && (p.plan.Wake.IsZero() || t.Before(p.plan.Wake)) {
				p.plan.Wake, p.plan.WakeFor = t, reason
			}
		}
	}
	blocked, next := p.state.atCapacity(p.spec), p.state.NextTime(p.spec)
	earliest("next run", next)
	if !blocked {
		earliest("before next run", next.Add(-p.state.lead()))
	}
	if p.state.Calendar.rechecks() && !p.spec.Suspend && !p.spec.Deleting {
		earliest("time zone check", p.state.Calendar.Recheck)
	}
	earliest("retry", p.state.Prune.Until, p.replaceable, p.prunable, p.state.StatusRetry.Until)
	if p.state.contested(p.now) {
		earliest("retry", p.state.Overtaken[0].Add(contestedFor+time.Second))
	}
	if p.spec.Deleting {
		return
	}
	if held := p.held(); held != nil {
		earliest("retry", held.resumeAt())
		return
	}
	if p.state.template().ObservedGeneration != p.spec.Generation {
		// A run may have proved it since.
		earliest("retry", p.state.Judging.Until)
	}
	if trigger := p.nextTrigger(); trigger != nil {
		earliest("retry", trigger.Retry.Until)
	}
	if backfill := p.nextBackfill(); backfill != nil {
		earliest("retry", backfill.Retry.Until)
	}
	if p.state.Pending != nil && p.mayStartDue() && !blocked {
		earliest("retry", p.state.Pending.Retry.Until)
	}
}
