package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// swarm holds when each Pod of the one Job was first seen in each state, and how many there were at a time.
type swarm struct {
	// size is how many Pods are waited for.
	size  int
	mutex sync.Mutex
	pods  map[types.UID]*podTimes
	// ended and released count Pods; there and running are how many there are now, maxThere and maxRunning at most.
	ended, released, there, running, maxThere, maxRunning int
	complete                                              time.Time
	// failure is the reason of the Job's condition Failed.
	failure string
	// longestIndexes is the length of the longest status.completedIndexes.
	longestIndexes int
}

// podTimes is one Pod. A zero time means not seen yet.
type podTimes struct{ created, running, ended, released time.Time }

func newSwarm(size int) *swarm {
	return &swarm{size: size, pods: make(map[types.UID]*podTimes, size)}
}

func (s *swarm) observeJob(job *batchv1.Job, at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.longestIndexes = max(s.longestIndexes, len(job.Status.CompletedIndexes))
	for _, condition := range job.Status.Conditions {
		switch {
		case condition.Status != corev1.ConditionTrue:
		case condition.Type == batchv1.JobComplete:
			first(&s.complete, at)
		case condition.Type == batchv1.JobFailed:
			s.failure = condition.Reason
		}
	}
}

func (s *swarm) observePod(pod *corev1.Pod, gone bool, at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.pods[pod.UID]
	if p == nil {
		p = &podTimes{created: at}
		s.pods[pod.UID] = p
		s.there++
		s.maxThere = max(s.maxThere, s.there)
	}
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.Status.Phase == corev1.PodRunning && p.running.IsZero() && p.ended.IsZero() {
		p.running = at
		s.running++
		s.maxRunning = max(s.maxRunning, s.running)
	}
	if (ended || gone) && p.ended.IsZero() {
		p.ended = at
		s.ended++
		s.there--
		if !p.running.IsZero() {
			s.running--
		}
	}
	if p.released.IsZero() && (gone || ended && !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)) {
		p.released = at
		s.released++
	}
}

func (s *swarm) done() (bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failure != "" {
		return false, fmt.Errorf("the Job failed: %s", s.failure)
	}
	return !s.complete.IsZero() && s.released >= s.size, nil
}

func (s *swarm) state() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return fmt.Sprintf("of %d Pods %d were created, %d ended, %d were released", s.size, len(s.pods), s.ended, s.released)
}

// half tells that half of the Pods have ended.
func (s *swarm) half() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ended >= s.size/2
}

// oneJob are the figures of a Job of many Pods.
type oneJob struct {
	// pods were seen in all, maxThere and maxRunning of them at a time.
	pods, maxThere, maxRunning int
	// complete, lastCreated, allRunning, firstEnded and lastEnded are times since the create of the Job; allRunning is 0
	// when the Pods never all ran at a time.
	complete, lastCreated, allRunning, firstEnded, lastEnded time.Duration
	// created and ended are the same times of each Pod, in no order.
	created, ended []time.Duration
	// toRelease is from a Pod's end to its release, toComplete from the last Pod's end to Complete.
	toRelease  []time.Duration
	toComplete time.Duration
	// longestIndexes is the length of the longest status.completedIndexes.
	longestIndexes int
	// histories is what Temporal kept; nil where it had no part.
	histories *histories
}

func (s *swarm) figures(start time.Time) *oneJob {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	since := func(at time.Time) time.Duration { return max(0, at.Sub(start)) }
	f := &oneJob{
		pods: len(s.pods), maxThere: s.maxThere, maxRunning: s.maxRunning, complete: since(s.complete),
		longestIndexes: s.longestIndexes,
	}
	for _, p := range s.pods {
		f.created, f.ended = append(f.created, since(p.created)), append(f.ended, since(p.ended))
		f.lastCreated = max(f.lastCreated, since(p.created))
		f.allRunning = max(f.allRunning, since(p.running))
		f.lastEnded = max(f.lastEnded, since(p.ended))
		if ended := since(p.ended); f.firstEnded == 0 || ended < f.firstEnded {
			f.firstEnded = ended
		}
		f.toRelease = append(f.toRelease, max(0, p.released.Sub(p.ended)))
	}
	if s.maxRunning < s.size {
		f.allRunning = 0
	}
	f.toComplete = max(0, f.complete-f.lastEnded)
	return f
}
