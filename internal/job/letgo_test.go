package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestAPodThatCouldNotBeDeletedIsDeletedAgain: twice as long after each time.
func TestAPodThatCouldNotBeDeletedIsDeletedAgain(t *testing.T) {
	d := newDesk(t, specOf(1, 1))
	d.suspend()
	d.terminate(d.decide(), "pod-1")
	d.apply(d.decide(), job.Report{})
	for wait := time.Second; wait < 10*time.Minute; wait *= 2 {
		plan := d.decide()
		equal(t, "wake", plan.Wake, job.Wake{At: d.now.Add(wait), Reason: job.WakePodRetry})
		d.now = plan.Wake.At
		d.terminate(d.decide(), "pod-1")
	}
}

// TestAScaleDownTakesOneList: the Pods that remain to be removed after the first 500 were chosen from it.
func TestAScaleDownTakesOneList(t *testing.T) {
	spec := specOf(1200, 1200)
	d := newDesk(t, spec)
	for d.now = start; len(d.pods) < 1200; {
		plan := d.decide()
		var report job.Report
		for _, create := range plan.Creates {
			uid := uidOf(len(d.pods) + 1)
			report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: uid})
			d.pods = append(d.pods, job.PodFact{Name: create.Name, UID: uid, Attempt: create.Attempt, Phase: corev1.PodRunning, Tracked: true, Version: 1})
		}
		d.apply(plan, report)
	}
	d.edit(func(spec *job.Spec) { spec.Parallelism = 0 })
	lists, removed := 0, 0
	for range 10 {
		plan := d.decide()
		if plan.List {
			lists++
			d.listed()
			continue
		}
		removed += len(plan.Deletes)
		d.apply(plan, job.Report{})
	}
	equal(t, "lists", lists, 1)
	equal(t, "removed Pods", removed, 1200)
	equal(t, "more to be removed", d.state.Removing, false)
	d.edit(func(spec *job.Spec) { spec.Parallelism = 1200 })
	d.edit(func(spec *job.Spec) { spec.Parallelism = 0 })
	equal(t, "another list for another edit", d.decide().List, true)
}
