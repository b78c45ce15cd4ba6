package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

func withSuccessPolicy(parallelism, completions int32) job.Spec {
	spec := specOf(parallelism, completions)
	spec.CompletionMode, spec.HasSuccessPolicy = batchv1.IndexedCompletion, true
	return spec
}

// TestARuleThatAMadeUpSuccessMeetsIsForgotten: a success of index 0 was said, which meets a rule, and is not so. That of index 1, which
// meets none, is counted.
func TestARuleThatAMadeUpSuccessMeetsIsForgotten(t *testing.T) {
	d := newDesk(t, withSuccessPolicy(2, 4))
	d.apply(d.decide(), job.Report{})
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodSucceeded}})
	plan := d.decide()
	equal(t, "asks", plan.Judge.String(), "0")
	d.state = plan.Matched(0)
	plan = d.decide()
	equal(t, "terminate", plan.Terminate, job.TerminateForVerdict)
	d.apply(plan, job.Report{Unseen: []string{"pod-1"}})
	d.listed()
	d.apply(d.decide(), job.Report{})

	d.state = d.state.Observe([]job.PodFact{d.end(2, corev1.PodSucceeded)})
	plan = d.decide()
	equal(t, "terminate", plan.Terminate, "")
	equal(t, "asks", plan.Judge.String(), "1")
	equal(t, "completed", plan.Status.CompletedIndexes, "1")
}

// TestAnotherSetOfTheSameSizeIsJudged: the only completed index is dropped by a lower spec.completions, and another one completes when
// these are as before.
func TestAnotherSetOfTheSameSizeIsJudged(t *testing.T) {
	d := newDesk(t, withSuccessPolicy(3, 3))
	d.apply(d.decide(), job.Report{})
	d.state = d.state.Observe([]job.PodFact{d.end(3, corev1.PodSucceeded)})
	plan := d.decide()
	equal(t, "asks", plan.Judge.String(), "2")
	d.apply(plan, job.Report{}) // No rule is met.
	d.pods[2].Tracked = false
	for _, completions := range []int32{2, 3} {
		d.edit(func(spec *job.Spec) { spec.Parallelism, spec.Completions = completions, &completions })
		d.now = d.now.Add(time.Second)
		d.listed()
		d.apply(d.decide(), job.Report{})
	}
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	equal(t, "asks", d.decide().Judge.String(), "0")
}
