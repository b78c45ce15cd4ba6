package bridge

import (
	"slices"
	"sync"
	"time"
)

const (
	// burst is how many new Jobs of a namespace begin at a time: their workflows have started, and have not written a status.
	burst = 32
	// podsFirst is how old a Job is before its workflow starts where more than burst wait. The worker makes the first Pods
	// when it sees a Job, and a workflow takes several times the processor time that they take.
	podsFirst = 3 * time.Second
	// burstDelay is how long a Job waits, or counts as one that begins, at the most.
	burstDelay = time.Minute
)

// newJob is a Job whose workflow has started or waits for its turn.
type newJob struct {
	key     key
	created time.Time
	begun   bool
}

// beginners are new Jobs. Several goroutines may use them.
type beginners struct {
	mutex sync.Mutex
	jobs  map[key]newJob
}

// admit returns how long a new Job is to wait for its turn at the most; after 0 it has begun.
func (b *beginners) admit(item key, created, now time.Time) (wait time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	age, waiting := now.Sub(created), 0
	room := b.room(item.Namespace, now, func(newJob) { waiting++ })
	switch {
	case b.jobs[item].begun, age < 0, age >= burstDelay:
		// One from the future, by this clock, might wait for as long as clocks differ.
	case age < podsFirst && (room == 0 || waiting >= burst):
		wait = podsFirst - age
	case room == 0:
		wait = burstDelay - age
	}
	if b.jobs == nil {
		b.jobs = map[key]newJob{}
	}
	b.jobs[item] = newJob{item, created, wait == 0}
	return wait
}

// room returns how many Jobs of a namespace may begin, and visits those that wait.
func (b *beginners) room(namespace string, now time.Time, visit func(newJob)) int {
	room := burst
	for item, job := range b.jobs {
		switch {
		case item.Namespace != namespace:
		case !job.begun:
			visit(job)
		case now.Sub(job.created) < burstDelay:
			room--
		}
	}
	return max(room, 0)
}

// leave takes out a Job that is new no more, and returns the oldest that may begin now: they ask again.
func (b *beginners) leave(item key, now time.Time) []newJob {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.jobs, item)
	var waiting []newJob
	room := b.room(item.Namespace, now, func(job newJob) { waiting = append(waiting, job) })
	slices.SortFunc(waiting, func(a, b newJob) int { return a.created.Compare(b.created) })
	return waiting[:min(room, len(waiting))]
}
