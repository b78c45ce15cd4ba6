package jobwatch

import (
	"cmp"
	"time"

	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// podsFirst is how long after the last new Job of a namespace was seen its workflows wait for the first Pods of the others:
	// a workflow takes several times the processor time that these take.
	podsFirst = 3 * time.Second
	// patience bounds how long the workflow of a Job waits for them.
	patience = 10 * time.Second
	// maxBeginning is how many workflows of a namespace begin at a time: they were started, and have not written a status. With more,
	// none comes to its end before all have begun.
	maxBeginning = 32
	// beginsWithin is how long a workflow counts as one that begins.
	beginsWithin = time.Minute
)

// newJobs are the Jobs of each namespace whose workflows are not started yet.
type newJobs map[string]*namespaceJobs

type namespaceJobs struct {
	jobs map[protocol.ObjectReference]*newJob
	// podless is how many of them wait for their first Pods, last when the last one was seen.
	podless int
	last    time.Time
	// waiting are those whose workflows were to start and have to wait, in that order.
	waiting []protocol.ObjectReference
	// beginning are others, with when their workflows were started.
	beginning map[protocol.ObjectReference]time.Time
}

// newJob is a Job whose workflow is not started yet: with input, as soon as it has its first Pods.
type newJob struct {
	seen time.Time
	// listed says that the Job was there when the watch began.
	listed bool
	input  *protocol.JobInput
	waits  bool
}

func (n newJobs) has(job protocol.ObjectReference) bool { return n.of(job.Namespace).jobs[job] != nil }

func (n newJobs) listed(job protocol.ObjectReference) bool {
	known := n.of(job.Namespace).jobs[job]
	return known != nil && known.listed
}

func (n newJobs) of(namespace string) *namespaceJobs {
	return cmp.Or(n[namespace], &namespaceJobs{jobs: map[protocol.ObjectReference]*newJob{}, beginning: map[protocol.ObjectReference]time.Time{}})
}

// see takes in a Job that was seen, and was not before.
func (n newJobs) see(job protocol.ObjectReference, listed bool, now time.Time) {
	namespace := n.of(job.Namespace)
	n[job.Namespace] = namespace
	namespace.jobs[job], namespace.last = &newJob{seen: now, listed: listed}, now
	namespace.podless++
}

// made takes in that a Job has its first Pods, or without an input that it is new no more. It returns the Jobs whose workflows
// are to start.
func (n newJobs) made(job protocol.ObjectReference, input *protocol.JobInput) []protocol.ObjectReference {
	namespace := n[job.Namespace]
	namespace.podless--
	namespace.jobs[job].input = input
	if input == nil {
		delete(namespace.jobs, job)
		n.tidy(job.Namespace)
	}
	if namespace.podless > 0 {
		return []protocol.ObjectReference{job}
	}
	return append(namespace.take(len(namespace.waiting)), job)
}

// take takes up to count Jobs off the waiting ones, in their order.
func (n *namespaceJobs) take(count int) (taken []protocol.ObjectReference) {
	for len(n.waiting) > 0 && len(taken) < count {
		first := n.waiting[0]
		n.waiting = n.waiting[1:]
		if waits := n.jobs[first]; waits != nil {
			waits.waits = false
			taken = append(taken, first)
		}
	}
	return taken
}

// next returns the input of a Job's workflow; nil if there is none to start. again is how long the workflow waits at the most:
// made and begun return the Job earlier.
func (n newJobs) next(job protocol.ObjectReference, now time.Time) (input *protocol.JobInput, again time.Duration) {
	namespace := n.of(job.Namespace)
	begins := namespace.jobs[job]
	if begins == nil {
		return nil, 0
	}
	if namespace.podless > 0 {
		again = min(podsFirst-now.Sub(namespace.last), patience-now.Sub(begins.seen))
	}
	if again = max(again, namespace.full(now), 0); again > 0 && !begins.waits {
		begins.waits, namespace.waiting = true, append(namespace.waiting, job)
	}
	return begins.input, again
}

// full returns how long no other workflow is to begin, at the most.
func (n *namespaceJobs) full(now time.Time) time.Duration {
	if len(n.beginning) < maxBeginning {
		return 0
	}
	first := now
	for _, started := range n.beginning {
		if started.Before(first) {
			first = started
		}
	}
	return beginsWithin - now.Sub(first)
}

// begin takes in that the workflow of a Job is being started.
func (n newJobs) begin(job protocol.ObjectReference, now time.Time) {
	namespace := n[job.Namespace]
	namespace.beginning[job] = now
	for one, started := range namespace.beginning {
		if now.Sub(started) >= beginsWithin {
			delete(namespace.beginning, one)
		}
	}
}

// started takes in what came of the start of a Job's workflow: after an error it is tried again, if the Job is still new or creates
// of its Pods may land. It returns the Jobs whose workflows may start in its place.
func (n newJobs) started(job protocol.ObjectReference, isNew bool, err error) []protocol.ObjectReference {
	namespace := n.of(job.Namespace)
	if err == nil || !isNew && !namespace.jobs[job].input.Late {
		delete(namespace.jobs, job)
	}
	if err != nil || !isNew {
		return n.begun(job)
	}
	return nil
}

// begun takes in that a Job is new no more. It returns the Jobs whose workflows may start in its place.
func (n newJobs) begun(job protocol.ObjectReference) []protocol.ObjectReference {
	namespace := n.of(job.Namespace)
	delete(namespace.beginning, job)
	n.tidy(job.Namespace)
	return namespace.take(maxBeginning - len(namespace.beginning))
}

// tidy forgets a namespace without Jobs.
func (n newJobs) tidy(namespace string) {
	if known := n.of(namespace); len(known.jobs)+len(known.beginning) == 0 {
		delete(n, namespace)
	}
}
