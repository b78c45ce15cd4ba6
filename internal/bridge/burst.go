package bridge

import (
	"cmp"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
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

// beginners are the new Jobs of each namespace. Several goroutines may use them.
type beginners struct {
	mutex      sync.Mutex
	namespaces map[string]*newJobs
}

// newJobs are those of a namespace.
type newJobs struct {
	// begun are Jobs whose workflows have started, with when these Jobs were created.
	begun map[types.UID]time.Time
	// waiting are the others, the oldest first.
	waiting []*batchv1.Job
}

// admit returns how long a new Job is to wait for its turn at the most; after 0 it has begun.
func (b *beginners) admit(job *batchv1.Job, now time.Time) (wait time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.namespaces == nil {
		b.namespaces = map[string]*newJobs{}
	}
	jobs := cmp.Or(b.namespaces[job.Namespace], &newJobs{begun: map[types.UID]time.Time{}})
	b.namespaces[job.Namespace] = jobs
	age, free := now.Sub(job.CreationTimestamp.Time), jobs.free(now)
	switch _, begun := jobs.begun[job.UID]; {
	case begun, age < 0, age >= burstDelay:
		// One from the future, by this clock, might wait for as long as clocks differ.
	case age < podsFirst && (free == 0 || len(jobs.waiting) >= burst):
		wait = podsFirst - age
	case free == 0:
		wait = burstDelay - age
	}
	jobs.remove(job)
	if wait > 0 {
		at, _ := slices.BinarySearchFunc(jobs.waiting, job, byAge)
		jobs.waiting = slices.Insert(jobs.waiting, at, job)
	} else {
		jobs.begun[job.UID] = job.CreationTimestamp.Time
	}
	return wait
}

// leave takes out a Job that is new no more, and returns the oldest that may begin now: they ask again.
func (b *beginners) leave(job *batchv1.Job, now time.Time) []*batchv1.Job {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	jobs := cmp.Or(b.namespaces[job.Namespace], &newJobs{})
	delete(jobs.begun, job.UID)
	jobs.remove(job)
	if len(jobs.begun)+len(jobs.waiting) == 0 {
		delete(b.namespaces, job.Namespace)
	}
	return slices.Clone(jobs.waiting[:min(jobs.free(now), len(jobs.waiting))])
}

// free returns how many Jobs may begin.
func (n *newJobs) free(now time.Time) int {
	free := burst
	for _, created := range n.begun {
		if now.Sub(created) < burstDelay {
			free--
		}
	}
	return max(free, 0)
}

// remove takes out a Job that waits no longer.
func (n *newJobs) remove(job *batchv1.Job) {
	if i, waits := slices.BinarySearchFunc(n.waiting, job, byAge); waits {
		n.waiting = slices.Delete(n.waiting, i, i+1)
	}
}

func byAge(a, b *batchv1.Job) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
}
