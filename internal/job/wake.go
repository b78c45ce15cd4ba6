package job

import (
	"fmt"
	"slices"
	"time"
)

// wake keeps the earliest reason to plan again.
func (p *pass) wake(at time.Time, reason WakeReason) {
	if p.plan.Wake.At.IsZero() || at.Before(p.plan.Wake.At) {
		p.plan.Wake = Wake{At: at, Reason: reason}
	}
}

// pause waits until what an error has stopped is to be tried again.
func (p *pass) pause() {
	retry := p.state.ErrorRetry
	p.wake(retry.Until, WakeErrorRetry)
	p.plan.Waiting = fmt.Sprintf("an error (%s); next attempt at %s", retry.Message, retry.Until.UTC().Format(time.RFC3339))
}

func (p *pass) wakeForDeadline() {
	if deadline, ok := p.deadline(); ok && p.state.interim() == nil {
		p.plan.Deadline = deadline
		p.wake(deadline, WakeDeadline)
	}
}

// due returns when the next Pod may be created.
func (b Backoff) due(config Config) time.Time {
	if b.Failures == 0 {
		return time.Time{}
	}
	return b.Last.Add(doubled(config.BackoffBase, config.BackoffCap, b.Failures))
}

// breakSilence starts the count of silence with the Job's first plan.
func (p *pass) breakSilence() {
	if p.state.Silence.Since.IsZero() {
		p.state.Silence.Since = p.now
	}
}

// listAt returns when the Pods are to be listed if no fact comes.
func (p *pass) listAt() time.Time {
	delay := doubled(p.config.ListBase, p.config.ListCap, p.state.Silence.Lists+1)
	if slices.ContainsFunc(p.state.Pods, Pod.mayVanish) {
		delay = min(delay, doubled(p.config.ListLetGo, p.config.ListBase, p.state.Silence.Lists+1))
	}
	return p.state.Silence.Since.Add(delay)
}

func (p *pass) listDue() bool { return !p.now.Before(p.listAt()) }

// strangersEvery is how often what anybody may have said has the Pods listed. Until then
// all is planned as if it were said later.
const strangersEvery = time.Second

func (p *pass) strangersAt() time.Time { return p.state.Listing.Add(strangersEvery) }

func (p *pass) strangersDue() bool { return p.state.Strange && !p.now.Before(p.strangersAt()) }

func (p *pass) wakeForStrangers() {
	if p.state.Strange && !p.strangersDue() {
		p.wake(p.strangersAt(), WakeList)
	}
}

func (p *pass) wakeForList() { p.wake(p.listAt(), WakeList) }

// Heard records that facts came at an instant, so that there is no need to list
// the Pods for a while.
func (s State) Heard(now time.Time) State {
	s.Silence = Silence{Since: now}
	return s
}

// waiting says in words what the Job waits for.
func (p *pass) waiting() string {
	if failing := p.failing(); failing != "" {
		return failing
	}
	at := p.plan.Wake.At.UTC().Format(time.RFC3339)
	active, terminating := p.active(), p.terminating()
	switch {
	case p.plan.Wake.Reason == WakeStatusRetry:
		return fmt.Sprintf("the API server refused the status (%s); next attempt at %s", p.state.StatusRetry.Message, at)
	case p.state.interim() != nil:
		return fmt.Sprintf("%s: %d Pods to terminate", p.state.interim().Reason, terminating)
	case p.spec.Deleting:
		return fmt.Sprintf("the Job is being deleted: %d Pods left", active+terminating)
	case p.spec.Suspend:
		return "suspended"
	case p.plan.Wake.Reason == WakeCreateRetry:
		return fmt.Sprintf("the API server refused a Pod (%s); next attempt at %s", p.state.CreateRetry.Message, at)
	case p.plan.Wake.Reason == WakeBackoff:
		return fmt.Sprintf("back-off after %d failures: next Pod at %s", p.state.Backoff.Failures, at)
	case active > 0:
		return fmt.Sprintf("%d active Pods", active)
	case terminating > 0:
		return fmt.Sprintf("%d Pods to terminate", terminating)
	case p.spec.Parallelism == 0:
		return "parallelism is 0"
	default:
		return ""
	}
}
