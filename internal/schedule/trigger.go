package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/times"
)

// TriggerRequest asks for one manual run.
type TriggerRequest struct {
	// Note is the sender's, Asked who that is.
	Note string `json:"note,omitempty"`
	ledger.Asked
	// Caller is the user that names.CallerHeader names, which the activity that starts the run may believe: User is that.
	Caller string `json:"caller,omitempty"`
	// Overlap is the concurrency policy that the sender asks for; empty for the CronJob's.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
}

// changing returns the request with what its overlap changes.
func (r TriggerRequest) changing() TriggerRequest {
	if r.Overlap != "" {
		r.Changed = "concurrencyPolicy " + string(r.Overlap)
	}
	return r
}

// Trigger is a request that is still to be decided.
type Trigger struct {
	// Sequence numbers the CronJob's triggers and backfills, ascending; the Job's name is made from it.
	Sequence int64 `json:"sequence"`
	// At is when it arrived.
	At time.Time `json:"at"`
	TriggerRequest
	Delay
	// Cancelled asks to forget what has not started.
	Cancelled bool `json:"cancelled,omitempty"`
}

// AddTrigger returns the state with one more trigger, or its row if refused. Its number is TriggerSequence.
func AddTrigger(state State, request TriggerRequest, now time.Time) State {
	if mistake := OverlapMistake(request.Overlap); mistake != "" {
		return RefuseTrigger(state, request, mistake, now)
	}
	p := begin(state, Spec{}, now)
	trigger := p.number(request.changing())
	if len(p.state.Triggers) >= MaxTriggers {
		p.record(trigger.entry(ledger.SkippedOverlap, ledger.ReasonTooManyTriggers, p.now))
		return p.state
	}
	p.state.Triggers = append(p.state.Triggers, trigger)
	return p.state
}

// AddTriggers returns the state with more triggers.
func AddTriggers(state State, requests []TriggerRequest, now time.Time) State {
	for _, request := range requests {
		state = AddTrigger(state, request, now)
	}
	return state
}

// CancelTriggers returns the state in which no trigger starts a run any more, and how many had not.
func CancelTriggers(state State) (cancelled State, count int) {
	p := begin(state, Spec{}, time.Time{})
	for index := range p.state.Triggers {
		p.state.Triggers[index].Cancelled = true
	}
	return p.state, len(p.state.Triggers)
}

// Untried returns what signals have asked for and nothing has become of. An update has its answer.
func Untried(state State) (requests []TriggerRequest) {
	for _, trigger := range state.Triggers {
		if reason, _ := trigger.why(); reason == "" && trigger.Unclear.IsZero() && trigger.Through == ledger.ThroughSignal {
			requests = append(requests, trigger.TriggerRequest)
		}
	}
	return requests
}

// RefuseTrigger returns the state with the row of a trigger that can't be carried out, and an Event that says what is wrong.
func RefuseTrigger(state State, request TriggerRequest, mistake string, now time.Time) State {
	p := begin(state, Spec{}, now)
	trigger := p.number(request)
	p.emit(event.Warning("TriggerRefused", mistake))
	if trigger.Note != "" {
		mistake += "; " + trigger.Note
	}
	trigger.Note = mistake
	p.record(trigger.entry(ledger.FailedToCreate, ledger.ReasonInvalidSignal, p.now))
	return p.state
}

// number returns the next trigger. The clock keeps its number from those of triggers that the state does not know.
func (p *pass) number(request TriggerRequest) Trigger {
	p.state.TriggerSequence = max(p.state.TriggerSequence+1, p.now.UnixMilli())
	request.Asked = request.Asked.Bounded()
	return Trigger{Sequence: p.state.TriggerSequence, At: p.now, TriggerRequest: request}
}

// start returns the start of the trigger's run, but for its Job's name.
func (t Trigger) start() Start {
	return Start{
		Scheduled: t.At.Truncate(time.Second), Manual: true, Sequence: t.Sequence, Overlap: t.Overlap, Note: t.Note, Asked: t.Asked,
		Caller: t.Caller,
	}
}

// settleForbidden settles the triggers that may neither start now nor wait, and marks those that wait.
func (p *pass) settleForbidden() {
	p.state.Triggers = slices.DeleteFunc(p.state.Triggers, func(trigger Trigger) bool {
		under := trigger.start().Under(p.spec)
		if !p.state.atCapacity(under) || under.queues() {
			return false
		}
		p.emit(alreadyActive(under))
		p.record(trigger.entry(ledger.SkippedOverlap, ledger.ReasonJobAlreadyActive, p.now))
		return true
	})
	for index := range p.state.Triggers {
		trigger := &p.state.Triggers[index]
		trigger.Blocked = trigger.Blocked || p.state.atCapacity(trigger.start().Under(p.spec))
	}
}

// nextTrigger returns the first trigger that does not wait for runs that are active; nil when there is none.
func (p *pass) nextTrigger() *Trigger {
	return firstOf(p.state.Triggers, func(trigger Trigger) bool { return !p.state.atCapacity(trigger.start().Under(p.spec)) })
}

// trigger returns the trigger of a number; nil when it is settled.
func (s State) trigger(sequence int64) *Trigger {
	return firstOf(s.Triggers, func(trigger Trigger) bool { return trigger.Sequence == sequence })
}

func (p *pass) dropTrigger(sequence int64) {
	p.state.Triggers = slices.DeleteFunc(p.state.Triggers, func(trigger Trigger) bool { return trigger.Sequence == sequence })
}

// triggeredStart returns the start of the next trigger's run, unless its retry has to wait; nil if there is none.
func (p *pass) triggeredStart() *Start {
	trigger := p.nextTrigger()
	if trigger == nil || p.now.Before(trigger.Retry.Until) {
		return nil
	}
	return new(p.triggered(*trigger))
}

// triggered returns the start of a trigger's run.
func (p *pass) triggered(trigger Trigger) Start {
	start := trigger.start()
	start.Name = names.TriggeredJob(p.state.Name, p.state.UID, trigger.Sequence)
	start.WhyLate, start.LateMessage = trigger.why()
	start.WhyLate = cmp.Or(start.WhyLate, ledger.ReasonOutage)
	return start
}

// dropTriggers forgets the manual runs of a CronJob that is being deleted, and those that were cancelled.
func (p *pass) dropTriggers() {
	p.state.Triggers = slices.DeleteFunc(p.state.Triggers, func(trigger Trigger) bool {
		reason := ledger.ReasonDeleting
		if !p.spec.Deleting {
			if !trigger.Cancelled || !trigger.Unclear.IsZero() {
				return false
			}
			reason = ledger.ReasonCancelled
		}
		p.record(trigger.entry(ledger.SkippedSuperseded, reason, p.now))
		return true
	})
}

func (t Trigger) entry(outcome ledger.Outcome, reason string, now time.Time) ledger.Entry {
	return t.start().row(outcome, reason, t.Note, now)
}

// requested are the rows of triggers that wait for other runs, or to retry, and of backfills that have times left. The status
// counts them.
func (s State) requested() []ledger.Entry {
	var rows []ledger.Entry
	for _, backfill := range s.Backfills {
		reason, message := backfill.why()
		left := fmt.Sprintf("%d of %d times left", len(backfill.Times), backfill.Total)
		rows = append(rows, backfill.entry(ledger.Queued, cmp.Or(reason, ledger.ReasonJobAlreadyActive), cmp.Or(message, backfillNote(backfill.Note)+", "+left), time.Time{}).Bounded())
	}
	for _, trigger := range s.Triggers {
		if reason, message := trigger.why(); reason != "" {
			rows = append(rows, trigger.start().row(ledger.Queued, reason, cmp.Or(message, trigger.Note), time.Time{}).Bounded())
		}
	}
	return rows
}

// TriggerRuns says when the run of a trigger runs: TriggerAnswer says what each means.
type TriggerRuns string

const (
	RunsNow     TriggerRuns = "now"
	RunsQueued  TriggerRuns = "queued"
	RunsRefused TriggerRuns = "refused"
	RunsNone    TriggerRuns = "none"
)

// TriggerAnswer says what becomes of a trigger.
type TriggerAnswer struct {
	// Job is the name of the run's Job, which the run will have while it is queued. It is absent if the run is refused.
	Job string `json:"job,omitempty"`
	// Runs is now if the Job is made, queued if the run waits or the API server is asked again, or refused; none after a cancel.
	Runs TriggerRuns `json:"runs"`
	// Reason says why the run does not start now: the reason of the ledger, with the API server's answer if there is one.
	Reason string `json:"reason,omitempty"`
	// Cancelled is the number of triggers that a cancel has ended.
	Cancelled int `json:"cancelled,omitempty"`
}

// behind names beside a reason, where that is that other runs are active, the one that has been active longest.
func (s State) behind(reason string) string {
	if reason != ledger.ReasonJobAlreadyActive || len(s.Active) == 0 {
		return reason
	}
	return fmt.Sprintf("%s: Job %s has been active since %s", reason, s.Active[0].Name, times.Format(cmp.Or(s.Active[0].Started, s.Active[0].Scheduled)))
}

// Answer returns what becomes of the trigger with a number (TriggerSequence after AddTrigger), once that is known.
func Answer(state State, sequence int64) (answer TriggerAnswer, known bool) {
	job := names.TriggeredJob(state.Name, state.UID, sequence)
	if trigger := state.trigger(sequence); trigger != nil {
		reason, message := trigger.why()
		if unclear := state.unclearJob(); reason == "" && unclear != "" {
			message = "it is open whether Job " + unclear + " was created: the API server gave no clear answer"
		}
		if cmp.Or(reason, message) == "" {
			return TriggerAnswer{}, false
		}
		return TriggerAnswer{Job: job, Runs: RunsQueued, Reason: state.behind(cmp.Or(message, reason))}, true
	}
	for _, entry := range slices.Backward(state.Ledger.Entries) {
		switch {
		case entry.Sequence != sequence:
		case entry.Outcome.HasJob():
			return TriggerAnswer{Job: job, Runs: RunsNow}, true
		default:
			return TriggerAnswer{Runs: RunsRefused, Reason: state.behind(entry.Why())}, true
		}
	}
	return TriggerAnswer{Runs: RunsRefused, Reason: "it is forgotten: the ledger has no row of it"}, true
}
