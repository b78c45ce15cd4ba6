package activities

import (
	"time"

	"ostinato.dev/ostinato/internal/job"
)

// podSet holds Pods by UID.
type podSet map[string]*watchedPod

func (s podSet) keep(pod *watchedPod, in bool) {
	if in {
		s[pod.fact.UID] = pod
	} else {
		delete(s, pod.fact.UID)
	}
}

// watchedPod is one Pod of a Job.
type watchedPod struct {
	fact job.PodFact
	// restartable: restartPolicy OnFailure, so that restarts count.
	restartable bool
	// told is what the workflow took last; zero before that.
	told toldPod
	// accounted Pods need no word: they had ended and were released when first
	// seen, or belong to a Job without a workflow.
	accounted bool
	// absent Pods have left the watch's sight without a known reason, or may not be
	// the Job's any more: only a look at the API server tells.
	absent bool
	// unknown Pods are told of as such: someone else made them, or they were adopted,
	// so that the workflow may not know that they exist.
	unknown bool
	// unseen Pods exist, ended, and will not be heard of again.
	unseen bool
}

// toldPod is what matters of a fact that a workflow took.
type toldPod struct {
	at                    time.Time
	over, deleting, ready bool
	restarts              int32
}

// over reports whether the Job has nothing more to expect of the Pod.
func over(fact job.PodFact) bool { return fact.Ended() || fact.Disowned }

func isReady(fact job.PodFact) bool { return fact.Ready && !fact.Deleting }

// isNews reports whether the workflow has to hear of the Pod.
func (p *watchedPod) isNews() bool {
	switch {
	case p.accounted, p.absent, p.told.over:
		return false
	case over(p.fact), p.fact.Deleting && !p.told.deleting, p.unknown:
		return true
	}
	return p.restartable && p.fact.Restarts > p.told.restarts
}

// hasChanged reports whether the Pod is worth adding to a signal.
func (p *watchedPod) hasChanged() bool {
	return !p.accounted && !p.absent && !p.told.over && (isReady(p.fact) != p.told.ready || p.fact.Restarts != p.told.restarts)
}

// isMissing reports whether the Pod is to be looked up.
func (p *watchedPod) isMissing() bool { return p.absent && !p.accounted && !p.told.over }

// isUnreleased reports whether the workflow knows of the Pod's end and has not
// released it.
func (p *watchedPod) isUnreleased() bool {
	return !p.accounted && p.told.over && p.fact.Tracked && !p.fact.Gone
}
