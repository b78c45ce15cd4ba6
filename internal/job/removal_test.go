package job_test

import (
	"testing"
	"time"

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
