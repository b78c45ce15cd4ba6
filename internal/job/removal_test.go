package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestNoPodIsRemovedInThePlaceOfAnother whose delete the API server refuses: that one goes as soon as it can.
func TestNoPodIsRemovedInThePlaceOfAnother(t *testing.T) {
	d := newDesk(t, specOf(3, 3))
	d.edit(func(spec *job.Spec) { spec.Parallelism = 2 })
	d.listed()
	plan := d.decide()
	equal(t, "removed", len(plan.Deletes), 1)
	refused := plan.Deletes[0]
	d.apply(plan, job.Report{Failures: []job.PodFailure{{UID: refused.UID, Message: "a policy protects the Pod"}}})
	for wait := time.Second; wait < time.Minute; wait *= 2 {
		d.listed()
		plan = d.decide()
		equal(t, "others removed", len(plan.Deletes), 0)
		d.apply(plan, job.Report{})
		d.now = d.now.Add(wait)
		d.listed()
		plan = d.decide()
		equal(t, "removed again", plan.Deletes, []job.Delete{refused})
		d.apply(plan, job.Report{Failures: []job.PodFailure{{UID: refused.UID, Message: "a policy protects the Pod"}}})
	}
}

// TestAPodThatWasReleasedToBeRemovedIsDeleted: a suspension had released it when its worker was lost, and the Job is resumed.
func TestAPodThatWasReleasedToBeRemovedIsDeleted(t *testing.T) {
	for name, list := range map[string]func(*desk){
		"listed": func(d *desk) { d.listed() },
		"rebuilt": func(d *desk) {
			d.state = job.Reconstruct(d.state, d.spec, d.state.Status(), job.List{Facts: d.pods}, d.now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(1, 1))
			d.pods = append(d.pods, job.PodFact{Name: "hello-9", UID: "pod-9", Attempt: 9, Phase: corev1.PodRunning, Removed: true, Version: 2})
			list(d)
			equal(t, "deleted", deleted(d.decide()), []string{"pod-9"})
		})
	}
}
