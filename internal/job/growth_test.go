package job_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestAStateGrowsNoLargerThanItsBounds: what is carried over is read again.
func TestAStateGrowsNoLargerThanItsBounds(t *testing.T) {
	t.Run("warnings", func(t *testing.T) {
		d := newDesk(t, specOf(1, 1))
		for i := range 1100 {
			d.edit(func(spec *job.Spec) { spec.Mistakes = []string{fmt.Sprintf("%d is no number of seconds", i)} })
			d.listed()
			plan := d.decide()
			equal(t, "Events", len(plan.Events), 1)
			d.apply(plan, job.Report{})
		}
		equal(t, "valid", d.state.Validate(), nil)
	})
	t.Run("records of indexes", func(t *testing.T) {
		spec := specOf(10, 200_000)
		spec.CompletionMode, spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = batchv1.IndexedCompletion, pointer[int32](1), pointer[int32](10_000)
		state := job.Begin("default", "work", "uid-1", spec, false)
		for i := range int32(100_000) {
			state.Indexes = append(state.Indexes, job.IndexRecord{Index: i, Attempts: 1, Failures: 1, Last: start})
		}
		plan := job.Decide(state, spec, start.Add(time.Second))
		equal(t, "creates beyond the bound", len(plan.Creates), 0)
		equal(t, "wake", plan.Wake.Reason, job.WakeBackoff)
		plan = job.Decide(state, spec, start.Add(time.Minute))
		equal(t, "creates of indexes that have failed", len(plan.Creates), 10)
	})
	t.Run("Pods", func(t *testing.T) {
		spec := specOf(10, 10)
		state := job.Begin("default", "work", "uid-1", spec, false)
		for i := range job.MaxStatePods + 1 {
			state.Pods = append(state.Pods, job.Pod{PodFact: job.PodFact{Name: fmt.Sprint(i), UID: fmt.Sprint(i), Attempt: int64(i), Deleting: true}})
		}
		equal(t, "creates beyond the bound", len(job.Decide(state, spec, start).Creates), 0)
		spec.CompletionMode = batchv1.IndexedCompletion
		equal(t, "creates of indexes beyond the bound", len(job.Decide(state, spec, start).Creates), 0)
	})
}
