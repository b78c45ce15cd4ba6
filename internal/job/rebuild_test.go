package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// rebuilt starts over from what there is of the Job, as after a status that is refused.
func (d *desk) rebuilt() {
	d.state = job.Reconstruct(d.state, d.spec, d.state.Status(), job.List{Pods: d.pods, Attempts: int64(len(d.pods))}, d.now)
}

func TestARebuildKeepsOneEvidenceOfAPod(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.apply(d.decide(), job.Report{StatusRefused: "conflict"})
	equal(t, "evidence", len(d.state.Evidence), 1)
	d.rebuilt()
	for _, pod := range d.state.Pods {
		equal(t, "fate", pod.Fate, job.Undecided)
	}
	d.now = d.now.Add(time.Minute)
	plan := d.decide()
	equal(t, "failed", plan.Status.Failed, 1)
	equal(t, "evidence", len(plan.Next.Evidence), 1)
}

func TestARebuildKeepsInMindWhichPodsOfOthersAreOver(t *testing.T) {
	stranger := job.PodFact{Name: "stranger", UID: "stranger-1", Phase: corev1.PodSucceeded, Tracked: true, Version: 7}
	late := stranger
	for _, name := range []string{"counted and forgotten", "counted and not released"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(1, 5))
			d.state = d.state.Observe([]job.PodFact{stranger})
			d.apply(d.decide(), job.Report{})
			equal(t, "succeeded", d.state.Succeeded, 1)
			if name == "counted and forgotten" {
				equal(t, "Pods", len(d.state.Pods), 1)
			}
			d.rebuilt()
			d.state = d.state.Observe([]job.PodFact{late})
			equal(t, "succeeded", d.decide().Next.Succeeded, 1)
		})
	}
}
