package job

import (
	"fmt"
	"time"
)

// wake keeps the earliest reason to plan again.
func (p *pass) wake(at time.Time, reason WakeReason) {
	if p.plan.Wake.At.IsZero() || at.Before(p.plan.Wake.At) {
		p.plan.Wake = Wake{At: at, Reason: reason}
	}
}

// waits reports whether a time has not come yet, and plans to wake when it does.
func (p *pass) waits(until time.Time, reason WakeReason) bool {
	early := p.now.Before(until)
	if early {
		p.wake(until, reason)
	}
	return early
}

func (p *pass) wakeForDeadline() {
	if deadline, ok := p.spec.deadline(p.state.StartTime); ok && p.state.interim() == nil {
		p.plan.Deadline = deadline
		p.wake(deadline, WakeDeadline)
	}
}

// due returns when the next Pod may be created.
func (s Spec) due(b Backoff) time.Time {
	base, limit := s.backoff()
	return b.Last.Add(doubled(base, limit, b.Failures))
}

// needsList reports whether the Pods are to be listed, which a suspension does anyway. It is so an hour after the last list
// whatever signals say: PodWatch may be paused.
func (p *pass) needsList() bool {
	last := later(p.state.Listing, p.state.StartTime)
	doubted := p.state.Doubt && !p.waits(p.state.Listing.Add(doubtEvery), WakeList)
	due := len(p.state.Pods) > 0 && !last.IsZero() && !p.waits(last.Add(listEvery), WakeList)
	landed := !p.state.Late.IsZero() && !p.waits(p.state.Late, WakeList)
	p.state.NeedsList = p.state.NeedsList || doubted || due || landed || p.pendingListDue()
	return p.state.NeedsList
}

// doubtEvery is how often signals, which any writer to Temporal may send, can have the Pods listed.
const doubtEvery = time.Second

// waiting says in words what the Job waits for.
func (p *pass) waiting() string {
	if failing := p.failing(); failing != "" {
		return failing
	}
	at := p.plan.Wake.At.UTC().Format(time.RFC3339)
	active, terminating := p.active(), p.terminating()
	switch {
	case p.plan.Wake.Reason == WakeStatusRetry:
		return fmt.Sprintf("the status was not written (%s); next attempt at %s", p.state.StatusRetry.Message, at)
	case p.state.interim() != nil:
		return fmt.Sprintf("%s: %d Pods to terminate", p.state.interim().Reason, terminating)
	case p.spec.Deleting:
		return fmt.Sprintf("the Job is being deleted: %d Pods left", active+terminating)
	case p.spec.Suspend:
		return "suspended"
	case p.plan.Wake.Reason == WakeCreateRetry:
		return fmt.Sprintf("a Pod was not created (%s); next attempt at %s", p.state.CreateRetry.Message, at)
	case p.plan.Wake.Reason == WakeBackoff:
		return fmt.Sprintf("back-off after %d failures: next Pod at %s", p.state.Backoff.Failures, at)
	case active > 0:
		return fmt.Sprintf("%d active Pods", active)
	case terminating > 0:
		return fmt.Sprintf("%d Pods to terminate", terminating)
	case p.spec.Parallelism == 0:
		return "parallelism is 0"
	}
	return ""
}
