package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// numbers are those of the Pods that a plan creates, by index.
func numbers(plan job.Plan) map[int32]int64 {
	numbers := map[int32]int64{}
	for _, create := range plan.Creates {
		numbers[*create.Index] = create.Attempt
	}
	return numbers
}

// The Pods of an index are numbered by how many of it have ended or were removed.
func TestPodsOfAnIndexAreNumbered(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(*desk)
		want    map[int32]int64
	}{
		"from 1": {func(d *desk) { d.state = job.State{}.Of("default", "hello", "uid-1") }, map[int32]int64{0: 1, 1: 1, 2: 1}},
		"after one that failed": {func(d *desk) {
			d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
			d.apply(d.decide(), job.Report{})
			d.release("pod-1")
			d.now = d.now.Add(time.Minute)
		}, map[int32]int64{0: 2}},
		"after a suspension that removed all, and one had failed before": {func(d *desk) {
			d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
			d.apply(d.decide(), job.Report{})
			d.release("pod-1")
			d.suspend()
			d.terminate(d.decide())
			d.apply(d.decide(), job.Report{})
			d.pods = nil
			d.listed()
			d.now = d.now.Add(time.Minute)
			d.resume()
		}, map[int32]int64{0: 2, 1: 2, 2: 2}},
		"beside one that still terminates": {func(d *desk) {
			d.pods[1].Deleting, d.pods[1].Version = true, 2
			d.state = d.state.Observe(d.pods)
			d.apply(d.decide(), job.Report{})
			d.now = d.now.Add(15 * time.Second)
		}, map[int32]int64{1: 2}},
		"after a name that another has": {func(d *desk) {
			d.state = job.State{}.Of("default", "hello", "uid-1")
			d.apply(d.decide(), job.Report{CreateRefused: "already exists", NameTaken: true})
			d.pods = nil
			d.listed()
			d.apply(d.decide(), job.Report{})
			d.now = d.now.Add(time.Minute)
		}, map[int32]int64{0: 2, 1: 2, 2: 2}},
		"after a refusal as before": {func(d *desk) {
			d.state = job.State{}.Of("default", "hello", "uid-1")
			d.apply(d.decide(), job.Report{CreateRefused: "exceeded quota"})
			d.now = d.now.Add(time.Minute)
		}, map[int32]int64{0: 1, 1: 1, 2: 1}},
		"anew where completions had dropped the index": {func(d *desk) {
			d.state = d.state.Observe([]job.PodFact{d.end(3, corev1.PodSucceeded)})
			d.apply(d.decide(), job.Report{})
			d.release("pod-3")
			scale := func(completions int32) {
				d.edit(func(spec *job.Spec) { spec.Parallelism, spec.Completions = completions, &completions })
			}
			scale(2)
			d.listed()
			d.apply(d.decide(), job.Report{})
			scale(3)
		}, map[int32]int64{2: 4}}, // The desk's lists say that Pods have numbers up to 3.
		"anew where a Pod of an index that was dropped has ended": {func(d *desk) {
			scale := func(completions int32) {
				d.edit(func(spec *job.Spec) { spec.Parallelism, spec.Completions = completions, &completions })
			}
			scale(2)
			d.end(3, corev1.PodFailed)
			d.listed()
			d.apply(d.decide(), job.Report{})
			d.release("pod-3")
			d.apply(d.decide(), job.Report{})
			d.now = d.now.Add(time.Second)
			scale(3)
		}, map[int32]int64{2: 4}},
		"after a rebuild, by the names of the Pods there are": {func(d *desk) {
			d.pods[0].Phase, d.pods[0].Tracked, d.pods[0].Attempt = corev1.PodFailed, false, 4
			status := batchv1.JobStatus{Failed: 4}
			d.state = job.Reconstruct(job.State{}.Of("default", "hello", "uid-1"), d.spec, status, job.List{Facts: d.pods, Attempts: 4}, d.now)
			d.now = d.now.Add(time.Minute)
		}, map[int32]int64{0: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(3, 3)
			spec.CompletionMode = batchv1.IndexedCompletion
			d := newDesk(t, spec)
			test.happens(d)
			plan := d.decide()
			equal(t, "numbers", numbers(plan), test.want)
			equal(t, "names of a task that is repeated", d.decide().Creates, plan.Creates)
		})
	}
}
