package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestWhatSignalsSayAsksForAListOnceASecond: a writer to Temporal may say it as often as it likes, and the Job goes on
// meanwhile.
func TestWhatSignalsSayAsksForAListOnceASecond(t *testing.T) {
	for name, say := range map[string]func(job.State, time.Time) job.State{
		"that a Pod which nobody knows is alive": func(state job.State, now time.Time) job.State {
			return state.Observe([]job.PodFact{{Name: "hello-7", UID: "e", Attempt: 1, Phase: corev1.PodRunning, Tracked: true}})
		},
		"that a Pod which nobody knows is not released": func(state job.State, now time.Time) job.State {
			return state.Observe([]job.PodFact{{Name: "hello-7", UID: "e", Attempt: 1, Index: pointer[int32](0), Phase: corev1.PodFailed, Tracked: true}})
		},
		"that its numbers differ": func(state job.State, _ time.Time) job.State {
			state.Doubt = true
			return state
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(2, 2)
			spec.BackoffLimit = 1000
			d := newDesk(t, spec)
			d.state = say(d.state, d.now)
			d.now = start.Add(time.Second)
			equal(t, "list", d.decide().List, true)
			d.now = start.Add(time.Hour)
			d.listed()
			asked := d.now

			d.now = asked.Add(300 * time.Millisecond)
			d.state = say(d.state, d.now)
			plan := d.decide()
			equal(t, "another list", plan.List, false)
			equal(t, "wake", plan.Wake, job.Wake{At: asked.Add(time.Second), Reason: job.WakeList})
			d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
			if plan = d.decide(); plan.Status == nil || plan.Status.Succeeded != 1 {
				t.Errorf("the Pod that has ended is not counted meanwhile: %+v", plan)
			}

			d.now = asked.Add(time.Second)
			equal(t, "another list, later", d.decide().List, true)
		})
	}
}
