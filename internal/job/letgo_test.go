package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestAPodThatMayGoWithoutAWordIsLookedFor: it goes while nobody watches, long after it was released.
func TestAPodThatMayGoWithoutAWordIsLookedFor(t *testing.T) {
	suspended := func(c *cluster) { c.edit(func(spec *job.Spec) { spec.Suspend = true }) }
	waiting := func(spec *job.Spec) { spec.PodReplacementPolicy = batchv1.Failed }
	for name, test := range map[string]struct {
		spec func(*job.Spec)
		do   func(*cluster)
		// released is how many Pods are let go of, after is the status without them.
		released int
		after    [5]int32
	}{
		"removed by a suspension":     {nil, suspended, 2, [5]int32{0, 0, 0, 0, 0}},
		"removed by a scale-down":     {nil, func(c *cluster) { c.edit(func(spec *job.Spec) { spec.Parallelism = 1 }) }, 1, [5]int32{1, 0, 0, 0, 0}},
		"deleted with the Job failed": {func(spec *job.Spec) { spec.BackoffLimit = 0 }, func(c *cluster) { c.fail(1) }, 1, [5]int32{0, 0, 0, 0, 2}},
		"deleted by somebody":         {func(spec *job.Spec) { spec.Completions = pointer[int32](2) }, func(c *cluster) { c.delete(c.pods[0]) }, 1, [5]int32{2, 0, 0, 0, 1}},
		"of a Job that is deleted": {waiting, func(c *cluster) {
			c.delete(c.pods[0])
			c.edit(func(spec *job.Spec) { spec.Deleting = true })
		}, 1, [5]int32{1, 0, 0, 0, 0}},
		"whose finalizer somebody has removed": {waiting, func(c *cluster) {
			c.pods[0].tracked = false
			c.delete(c.pods[0])
		}, 1, [5]int32{2, 0, 0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(2, 4)
			if test.spec != nil {
				test.spec(&spec)
			}
			c := newCluster(t, spec).settle().run(2).deliver().settle().pass(20 * time.Minute)
			test.do(c)
			c.deliver().settle()
			c.pass(10 * time.Second).settle() // a back-off
			c.mailbox = nil
			since := c.now
			if c.wake.At.Before(since.Add(40*time.Second)) || c.wake.At.After(since.Add(time.Minute)) {
				t.Errorf("wake %+v at %s", c.wake, since)
			}
			for last, lists := time.Minute, 0; last < 30*time.Minute; lists++ {
				if lists > 10 {
					t.Fatalf("%d lists, and the next after %s", lists, last)
				}
				c.now = c.wake.At
				c.settle()
				wait := c.wake.At.Sub(c.now)
				if wait < last || wait > 2*last || wait == last && last > time.Minute || c.wake.Reason != job.WakeList {
					t.Fatalf("wake %+v at %s, after one of %s", c.wake, c.now, last)
				}
				last = wait
			}
			released := 0
			for _, pod := range c.pods {
				if pod.deleting && !pod.tracked {
					c.vanish(pod)
					released++
				}
			}
			equal(t, "released", released, test.released)
			c.mailbox = nil
			c.pass(30 * time.Minute).settle().pass(10 * time.Second).settle()
			equal(t, "status", counts(c.status), test.after)
			if c.finished == nil && c.wake.At.Before(c.now.Add(20*time.Minute)) {
				t.Errorf("wake %+v at %s", c.wake, c.now)
			}
		})
	}
}

// TestAPodThatSomebodyTellsOfIsNotLookedFor: a new watch reports it, or the plan that deletes it again does.
func TestAPodThatSomebodyTellsOfIsNotLookedFor(t *testing.T) {
	spec := specOf(1, 1)
	spec.PodReplacementPolicy = batchv1.Failed
	for name, do := range map[string]func(*cluster){
		"it runs":        func(*cluster) {},
		"it is tracked":  func(c *cluster) { c.delete(c.pods[0]) },
		"it has ended":   func(c *cluster) { c.fail(1) },
		"it is disowned": func(c *cluster) { c.disown(c.pods[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, spec).settle().run(1).deliver().settle()
			do(c)
			c.deliver().settle().pass(time.Minute).settle()
			equal(t, "wake", c.wake, job.Wake{At: start.Add(30 * time.Minute), Reason: job.WakeList})
		})
	}
	t.Run("it could not be deleted", func(t *testing.T) {
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
	})
}

// TestAPodThatIsLetGoOfIsLookedForAMinuteLater: however long ago the last fact came.
func TestAPodThatIsLetGoOfIsLookedForAMinuteLater(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.now = start.Add(20 * time.Minute)
	d.edit(func(spec *job.Spec) { spec.Parallelism = 1 })
	d.listed()
	d.now = start.Add(25 * time.Minute)
	d.apply(d.decide(), job.Report{})
	plan := d.decide()
	equal(t, "list", plan.List, false)
	equal(t, "wake", plan.Wake, job.Wake{At: d.now.Add(time.Minute), Reason: job.WakeList})
}
