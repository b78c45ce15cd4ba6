package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

func at(milliseconds int) time.Time { return start.Add(time.Duration(milliseconds) * time.Millisecond) }

func job(name string, conditions ...batchv1.JobConditionType) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, condition := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, Reason: "Because"})
	}
	return job
}

func pod(job, uid string, phase corev1.PodPhase, finalizers ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Labels: map[string]string{batchv1.JobNameLabel: job}, Finalizers: finalizers},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func TestTheFirstSightOfEachStateCounts(t *testing.T) {
	line := newTimeline(1)
	line.observeJob(job("a"), at(100))
	line.observePod(pod("a", "1", corev1.PodPending, batchv1.JobTrackingFinalizer), false, at(130))
	line.observeJob(job("a"), at(140))
	line.observePod(pod("a", "1", corev1.PodRunning, batchv1.JobTrackingFinalizer), false, at(150))
	line.observePod(pod("a", "1", corev1.PodSucceeded, batchv1.JobTrackingFinalizer), false, at(160))
	assert.Equal(t, progress{jobs: 1, pods: 1, running: 1}, line.progress())
	line.observeJob(job("a", batchv1.JobSuccessCriteriaMet), at(180))
	line.observeJob(job("a", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete), at(200))
	line.observeJob(job("a", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete), at(900))
	assert.Equal(t, progress{jobs: 1, pods: 1, running: 1, complete: 1}, line.progress())
	line.observePod(pod("a", "1", corev1.PodSucceeded), false, at(210))
	assert.Equal(t, progress{jobs: 1, pods: 1, running: 1, complete: 1, released: 1}, line.progress())

	assert.Equal(t, spans{
		fromStart:    []time.Duration{100 * time.Millisecond},
		toEnd:        []time.Duration{200 * time.Millisecond},
		podFromStart: []time.Duration{130 * time.Millisecond},
		toPod:        []time.Duration{30 * time.Millisecond},
		toComplete:   []time.Duration{40 * time.Millisecond},
		whole:        []time.Duration{100 * time.Millisecond},
		all:          200 * time.Millisecond,
	}, line.spans(start))
}

func TestTheTwoWatchesMayOvertakeEachOther(t *testing.T) {
	line := newTimeline(1)
	line.observePod(pod("a", "1", corev1.PodPending), false, at(90))
	line.observeJob(job("a", batchv1.JobComplete), at(100))
	line.observePod(pod("a", "1", corev1.PodSucceeded), false, at(105))
	spans := line.spans(start)
	assert.Equal(t, []time.Duration{0}, spans.toPod)
	assert.Equal(t, []time.Duration{0}, spans.toComplete)
}

func TestARemovedPodIsReleased(t *testing.T) {
	line := newTimeline(1)
	line.observePod(pod("a", "1", corev1.PodRunning, batchv1.JobTrackingFinalizer), true, at(1))
	assert.Equal(t, 1, line.progress().released)
}

func TestEveryPodOfAJobIsCounted(t *testing.T) {
	line := newTimeline(1)
	line.observePod(pod("a", "1", corev1.PodRunning), false, at(1))
	line.observePod(pod("a", "2", corev1.PodRunning), false, at(2))
	line.observePod(pod("", "3", corev1.PodRunning), false, at(3))
	assert.Equal(t, 2, line.progress().pods, "Pods of no Job do not count")
}

func TestWaitEnds(t *testing.T) {
	well := func() error { return nil }
	t.Run("when all are complete and released", func(t *testing.T) {
		r := &recorder{observer: newTimeline(1)}
		r.observeJob(job("a", batchv1.JobComplete), at(1))
		r.observePod(pod("a", "1", corev1.PodSucceeded), false, at(1))
		assert.NoError(t, r.wait(t.Context(), well))
	})
	t.Run("when a Job fails, with its name", func(t *testing.T) {
		r := &recorder{observer: newTimeline(1)}
		r.observeJob(job("a", batchv1.JobFailed), at(1))
		assert.ErrorContains(t, r.wait(t.Context(), well), "1 failed (a: Because)")
	})
	t.Run("when a process ended", func(t *testing.T) {
		r := &recorder{observer: newTimeline(1)}
		assert.ErrorContains(t, r.wait(t.Context(), func() error { return errors.New("worker ended") }), "worker ended")
	})
	t.Run("when time is over, telling how far it came", func(t *testing.T) {
		r := &recorder{observer: newTimeline(2)}
		r.observeJob(job("a"), at(1))
		ctx, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("not done within 0s"))
		defer cancel()
		err := r.wait(ctx, well)
		assert.ErrorContains(t, err, "wait for the end: not done within 0s: 1 Jobs, 0 Pods, 0 Complete")
	})
}
