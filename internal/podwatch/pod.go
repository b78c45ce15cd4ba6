package podwatch

import (
	"time"

	"ostinato.dev/ostinato/internal/job"
)

type watchedPod struct {
	state       state
	fact        job.PodFact
	restartable bool      // restartPolicy OnFailure, so that restarts count
	heard       heard     // what the workflow took last of what changes while a Pod runs
	since       time.Time // when the watch saw the Pod first; zero for one of its first list
}

// heard is what matters of a fact that a workflow took.
type heard struct {
	at       time.Time
	ready    bool
	restarts int32
}

// sight is a Pod as the watch sees it now, or as a look has found it.
type sight struct {
	fact        job.PodFact
	restartable bool
	// madeElsewhere: someone else made the Pod, or it was adopted, so that the workflow may not know that it exists.
	madeElsewhere bool
	unproven      bool // the Pod's labels are not known to match the Job's selector
}

// event says what it means for the Pod to be seen so.
func (p *watchedPod) event(s sight) event {
	released := s.fact.Ended() && !s.fact.Tracked
	// The owner of a Pod that was accounted before, or will be now, does not matter any more.
	known := released && p.state == stateNew || s.fact.Ended() && p.state == stateTold
	switch {
	case s.unproven && !known:
		return seenUnproven
	case released && p.state == stateNew && s.fact.Deleting:
		// It was let go while it could run, and its Job waits for its end: there may have been no watch when it came.
		return seenEnded
	case released:
		return seenReleased
	case s.fact.Ended():
		return seenEnded
	case s.restartable && s.fact.Restarts > p.heard.restarts:
		return seenRestarted
	case s.fact.Deleting && s.fact.Removed:
		return seenRemoved
	case s.fact.Deleting:
		return seenLeaving
	case s.madeElsewhere:
		return seenMadeElsewhere
	}
	return seenAlive
}

// meet takes an event. s and now matter where the event's effects need them.
func (p *watchedPod) meet(e event, s sight, now time.Time) {
	next := transitions[e]
	if next.to[p.state] == 0 {
		return
	}
	p.state = next.to[p.state]
	if next.effects&learn != 0 {
		p.fact, p.restartable = s.fact, s.restartable
	}
	if next.effects&(lose|disown) != 0 {
		p.fact.Gone, p.fact.Disowned = next.effects&lose != 0, next.effects&disown != 0
		p.fact.Ready, p.fact.Tracked = false, false
	}
	if next.effects&note != 0 {
		p.heard = heard{at: now, ready: isReady(s.fact), restarts: s.fact.Restarts}
	}
}

func (p *watchedPod) sight() sight { return sight{fact: p.fact, restartable: p.restartable} }

// isInSight reports whether what is known of the Pod is what the watch sees.
func (p *watchedPod) isInSight() bool {
	switch p.state {
	case stateQuiet, stateDue, stateLeaving, stateTold, stateSettled:
		return true
	}
	return false
}

// over reports whether the Job has nothing more to expect of the Pod.
func over(fact job.PodFact) bool { return fact.Ended() || fact.Disowned }

func isReady(fact job.PodFact) bool { return fact.Ready && !fact.Deleting && !over(fact) }

// isOwed reports whether the workflow has to hear of the Pod.
func (p *watchedPod) isOwed() bool { return p.state == stateDue || p.state == stateParting }

// hasChanged reports whether the Pod, although nothing is owed about it, is worth adding to a signal.
func (p *watchedPod) hasChanged() bool {
	return (p.state == stateQuiet || p.state == stateLeaving) &&
		(isReady(p.fact) != p.heard.ready || p.fact.Restarts != p.heard.restarts)
}

func (p *watchedPod) isMissing() bool { return p.state == stateMissing || p.state == stateUnproven }

// isUnreleased reports whether the workflow knows of the Pod's end and has not released it.
func (p *watchedPod) isUnreleased() bool { return p.state == stateTold }

// isLeft reports whether the Job can expect more of the Pod.
func (p *watchedPod) isLeft() bool {
	switch p.state {
	case stateQuiet, stateDue, stateLeaving, stateMissing, stateUnproven:
		return !over(p.fact)
	}
	return false
}

type podSet map[string]*watchedPod

func (s podSet) keep(pod *watchedPod, in bool) {
	if in {
		s[pod.fact.UID] = pod
	} else {
		delete(s, pod.fact.UID)
	}
}
