package job_test

import (
	"testing"
	"time"

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
