package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
)

func TestOvertaken(t *testing.T) {
	another := job.ByOthers{Succeeded: true, Failed: true}
	for name, test := range map[string]struct {
		status batchv1.JobStatus
		by     job.ByOthers
		base   job.Base
		want   bool
	}{
		"nobody has counted":                      {batchv1.JobStatus{Succeeded: 2, Failed: 1}, another, job.Base{Succeeded: 2, Failed: 1}, false},
		"another has":                             {batchv1.JobStatus{Succeeded: 3}, another, job.Base{Succeeded: 2}, true},
		"another has, a failure":                  {batchv1.JobStatus{Failed: 1}, another, job.Base{}, true},
		"a plan that was forgotten has":           {batchv1.JobStatus{Succeeded: 3}, job.ByOthers{}, job.Base{Succeeded: 2}, false},
		"a plan that was forgotten has successes": {batchv1.JobStatus{Succeeded: 3}, job.ByOthers{Failed: true}, job.Base{Succeeded: 2}, false},
		"the counters fell, as indexes do":        {batchv1.JobStatus{Succeeded: 1}, another, job.Base{Succeeded: 2}, false},
		"another is about to":                     {batchv1.JobStatus{UncountedTerminatedPods: notedByAnother("x")}, job.ByOthers{}, job.Base{}, true},
		"another was about to, as the plan knows": {batchv1.JobStatus{UncountedTerminatedPods: notedByAnother("x")}, job.ByOthers{}, job.Base{Uncounted: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "overtaken", job.Overtaken(test.status, test.by, test.base), test.want)
		})
	}
}

func notedByAnother(uids ...types.UID) *batchv1.UncountedTerminatedPods {
	return &batchv1.UncountedTerminatedPods{Succeeded: uids}
}

// meanwhile lets another controller, while the workflow sleeps, count the two Pods that run
// and two more of its own, and make two that succeed.
func (c *cluster) meanwhile() *cluster {
	c.succeed(2)
	for range 2 {
		c.endWell(c.adopt(nil))
	}
	for _, pod := range c.pods {
		pod.tracked = false
	}
	c.status.Succeeded, c.byOthers.Succeeded = c.status.Succeeded+4, true
	for range 2 {
		c.endWell(c.adopt(nil))
	}
	c.mailbox = nil
	return c
}

// As many Pods have ended that the workflow knows, or hears of, as the other has counted:
// no counter falls, so that the API server takes any status.
func TestPodsThatAnotherControllerHasMadeAndCountedCount(t *testing.T) {
	c := newCluster(t, specOf(2, 8)).settle().succeed(2).deliver().settle()
	c.meanwhile()
	c.state.Doubt = true
	c.pass(time.Second).settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 0, 8, 0})
	equal(t, "creates", len(c.creates), 4)
	equal(t, "complete", finished(c.status), true)
}

// The other died between the two writes by which it counts a Pod that it has made itself.
func TestAPodThatAnotherControllerWasAboutToCountCounts(t *testing.T) {
	c := newCluster(t, specOf(2, 3)).settle()
	theirs := c.adopt(nil)
	c.endWell(theirs)
	theirs.tracked, c.mailbox = false, nil
	c.status.UncountedTerminatedPods = notedByAnother(types.UID(theirs.uid))
	c.succeed(2).deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 0, 3, 0})
	equal(t, "creates", len(c.creates), 2)
}

// Upstream does not count a Pod without the finalizer either: it was counted or given up, by a
// workflow before this one, say, for which its index was too many.
func TestAPodThatIsFoundReleasedIsNotCounted(t *testing.T) {
	for _, mode := range []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion} {
		t.Run(string(mode), func(t *testing.T) {
			spec := specOf(1, 1)
			spec.CompletionMode = mode
			c := newCluster(t, spec)
			pod, _ := c.create(c.plan().Creates[0])
			c.endWell(pod)
			pod.tracked, c.mailbox = false, nil
			c.settle()
			equal(t, "status", counts(c.status), [5]int32{1, 0, 0, 0, 0})
			equal(t, "Pods", len(c.pods), 2)
		})
	}
}
