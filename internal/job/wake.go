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

// listAt returns when the Pods are to be listed if no fact comes.
func (p *pass) listAt() time.Time {
	delay := doubled(p.config.ListBase, p.config.ListCap, p.state.Silence.Lists+1)
	if slices.ContainsFunc(p.state.Pods, Pod.mayVanish) {
		delay = min(delay, doubled(p.config.ListLetGo, p.config.ListBase, p.state.Silence.Lists+1))
	}
	return p.state.Silence.Since.Add(delay)
}

func (p *pass) listDue() bool { return !p.now.Before(p.listAt()) }

// unknownPodsEvery is how often facts about unknown Pods, which anybody may have sent, can have the Pods listed.
const unknownPodsEvery = time.Second

// unknownPodsDue reports whether they are to be listed now, and plans to wake when they are.
func (p *pass) unknownPodsDue() bool {
	at := p.state.Listing.Add(unknownPodsEvery)
	if p.state.UnknownPods && p.now.Before(at) {
		p.wake(at, WakeList)
	}
	return p.state.UnknownPods && !p.now.Before(at)
}

// Heard records that facts came at an instant, which puts off the next list.
func (s State) Heard(now time.Time) State {
	s.Silence = Silence{Since: now}
	return s
}

// mayVanish reports whether the Pod terminates without its finalizer, so that it may go while nobody
// watches: the Pods are listed every minute until then (Config.ListLetGo).
func (p Pod) mayVanish() bool { return p.terminating() && !p.Tracked }

// expectEnds begins the silence anew with a plan that releases Pods which can still run: a
// list at once would find them running.
func (p *pass) expectEnds() {
	if slices.ContainsFunc(p.plan.Deletes, func(wanted Delete) bool { return wanted.Release }) ||
		slices.ContainsFunc(p.plan.Releases, func(wanted Release) bool { return wanted.Phase == "" }) {
		p.state.Silence = Silence{Since: p.now}
	}
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
