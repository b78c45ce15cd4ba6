package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// timeline holds when each Job and its Pod were first seen in each state.
type timeline struct {
	// count is how many Jobs are waited for.
	count int
	mutex sync.Mutex
	runs  map[string]*run
	// pods are the UIDs seen, to notice a Job with more than one Pod.
	pods   map[string]bool
	failed []string
}

// run is one Job. A zero time means not seen yet.
type run struct {
	created, podCreated, podRunning, podEnded, complete time.Time
	// released tells that the ended Pod is free of the tracking finalizer, or gone.
	released bool
}

func newTimeline(count int) *timeline {
	return &timeline{count: count, runs: map[string]*run{}, pods: map[string]bool{}}
}

func (t *timeline) run(job string) *run {
	if t.runs[job] == nil {
		t.runs[job] = &run{}
	}
	return t.runs[job]
}

// observeJob takes a Job that the watch showed at a time.
func (t *timeline) observeJob(job *batchv1.Job, at time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	r := t.run(job.Name)
	first(&r.created, at)
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			first(&r.complete, at)
		case batchv1.JobFailed:
			if reason := job.Name + ": " + condition.Reason; !slices.Contains(t.failed, reason) {
				t.failed = append(t.failed, reason)
			}
		}
	}
}

// observePod takes a Pod that the watch showed at a time; gone tells that it was removed.
func (t *timeline) observePod(pod *corev1.Pod, gone bool, at time.Time) {
	job := pod.Labels[batchv1.JobNameLabel]
	if job == "" {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.pods[string(pod.UID)] = true
	r := t.run(job)
	first(&r.podCreated, at)
	if pod.Status.Phase == corev1.PodRunning {
		first(&r.podRunning, at)
	}
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if ended {
		first(&r.podEnded, at)
	}
	if gone || ended && !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
		r.released = true
	}
}

func first(seen *time.Time, at time.Time) {
	if seen.IsZero() {
		*seen = at
	}
}

// progress is how far the runs are.
type progress struct {
	jobs, pods, running, complete, released int
	failed                                  []string
}

func (p progress) String() string {
	text := fmt.Sprintf("%d Jobs, %d Pods, %d Complete, %d Pods released", p.jobs, p.pods, p.complete, p.released)
	if len(p.failed) > 0 {
		text += fmt.Sprintf(", %d failed (%s)", len(p.failed), strings.Join(p.failed[:min(3, len(p.failed))], "; "))
	}
	return text
}

func (t *timeline) progress() progress {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	p := progress{pods: len(t.pods), failed: slices.Clone(t.failed)}
	for _, r := range t.runs {
		if !r.created.IsZero() {
			p.jobs++
		}
		if !r.podRunning.IsZero() {
			p.running++
		}
		if !r.complete.IsZero() {
			p.complete++
		}
		if r.released {
			p.released++
		}
	}
	return p
}

func (t *timeline) state() string { return t.progress().String() }

// done tells that all Jobs are Complete and their Pods are released.
func (t *timeline) done() (bool, error) {
	now := t.progress()
	if len(now.failed) > 0 {
		return false, fmt.Errorf("not every Job of %d succeeded: %s", t.count, now)
	}
	return now.complete >= t.count && now.released >= t.count, nil
}

// spans are the durations the figures are made of, in no order.
type spans struct {
	// fromStart is from the start (first create, or due time) to the Job's creation, toEnd to its Complete.
	fromStart, toEnd []time.Duration
	// podFromStart is from the start to the creation of the Job's first Pod.
	podFromStart []time.Duration
	// toPod is from the Job's creation to its Pod's, toComplete from the Pod's end to the Job's Complete.
	toPod, toComplete []time.Duration
	// whole is from the Job's creation to Complete.
	whole []time.Duration
	// all is from the start to the last Complete.
	all time.Duration
}

// spans returns the durations of the complete runs. Jobs and Pods come by two watches, so that the later of two changes
// can be seen first, by a few milliseconds: such a duration counts as 0.
func (t *timeline) spans(start time.Time) spans {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	between := func(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }
	var s spans
	for _, r := range t.runs {
		if r.complete.IsZero() || r.created.IsZero() {
			continue
		}
		s.fromStart = append(s.fromStart, between(start, r.created))
		s.whole = append(s.whole, between(r.created, r.complete))
		s.toEnd = append(s.toEnd, between(start, r.complete))
		s.all = max(s.all, between(start, r.complete))
		if !r.podCreated.IsZero() {
			s.podFromStart = append(s.podFromStart, between(start, r.podCreated))
			s.toPod = append(s.toPod, between(r.created, r.podCreated))
		}
		if !r.podEnded.IsZero() {
			s.toComplete = append(s.toComplete, between(r.podEnded, r.complete))
		}
	}
	return s
}
