package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// phases shows the swarm a Pod that is created, runs, ends and is released, at these times.
func phases(s *swarm, uid string, created, running, ended, released int) {
	tracked := []string{batchv1.JobTrackingFinalizer}
	s.observePod(pod(oneJobName, uid, corev1.PodPending, tracked...), false, at(created))
	s.observePod(pod(oneJobName, uid, corev1.PodRunning, tracked...), false, at(running))
	s.observePod(pod(oneJobName, uid, corev1.PodSucceeded, tracked...), false, at(ended))
	s.observePod(pod(oneJobName, uid, corev1.PodSucceeded), false, at(released))
}

func TestAJobOfManyPodsIsDoneWhenItIsCompleteAndEveryPodIsReleased(t *testing.T) {
	s := newSwarm(2)
	expect := func(want bool) {
		t.Helper()
		done, err := s.done()
		assert.NoError(t, err)
		assert.Equal(t, want, done)
	}
	phases(s, "1", 10, 20, 30, 60)
	assert.True(t, s.half())
	s.observeJob(job(oneJobName, batchv1.JobComplete), at(90))
	expect(false)
	s.observePod(pod(oneJobName, "2", corev1.PodSucceeded, batchv1.JobTrackingFinalizer), false, at(80))
	expect(false)
	assert.Equal(t, "of 2 Pods 2 were created, 2 ended, 1 were released", s.state())
	s.observePod(pod(oneJobName, "2", corev1.PodSucceeded), false, at(100))
	expect(true)
}

func TestAJobOfManyPodsThatFailsEndsTheMeasurement(t *testing.T) {
	s := newSwarm(2)
	s.observeJob(job(oneJobName, batchv1.JobFailed), at(1))
	_, err := s.done()
	assert.ErrorContains(t, err, "the Job failed: Because")
}

func TestFiguresOfAJobOfManyPods(t *testing.T) {
	s := newSwarm(3)
	s.observePod(pod(oneJobName, "1", corev1.PodPending), false, at(10))
	s.observePod(pod(oneJobName, "2", corev1.PodPending), false, at(20))
	phases(s, "1", 10, 30, 40, 50)
	phases(s, "2", 20, 45, 60, 90)
	phases(s, "3", 70, 75, 80, 85)
	large := job(oneJobName)
	large.Status.CompletedIndexes = "0,2,4"
	s.observeJob(large, at(70))
	s.observeJob(job(oneJobName, batchv1.JobComplete), at(100))
	f := s.figures(start)
	assert.ElementsMatch(t, []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 5 * time.Millisecond}, f.toRelease)
	assert.ElementsMatch(t, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 70 * time.Millisecond}, f.created)
	assert.ElementsMatch(t, []time.Duration{40 * time.Millisecond, 60 * time.Millisecond, 80 * time.Millisecond}, f.ended)
	f.toRelease, f.created, f.ended = nil, nil, nil
	assert.Equal(t, &oneJob{
		pods: 3, maxThere: 2, maxRunning: 1,
		complete: 100 * time.Millisecond, lastCreated: 70 * time.Millisecond,
		firstEnded: 40 * time.Millisecond, lastEnded: 80 * time.Millisecond, toComplete: 20 * time.Millisecond,
		longestIndexes: 5,
	}, f)
}

func TestPodsThatRunAtOnceAreCounted(t *testing.T) {
	s := newSwarm(3)
	for n := range 3 {
		uid := fmt.Sprint(n)
		s.observePod(pod(oneJobName, uid, corev1.PodRunning), false, at(n))
		s.observePod(pod(oneJobName, uid, corev1.PodRunning), false, at(n+10))
	}
	s.observePod(pod(oneJobName, "0", corev1.PodRunning), true, at(20))
	f := s.figures(start)
	assert.Equal(t, []int{3, 3}, []int{f.maxThere, f.maxRunning})
	assert.Equal(t, 2*time.Millisecond, f.allRunning)
	assert.Equal(t, 1, s.released, "a Pod that is gone is released")
}
