package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestMoreEndsThanAPlanCounts: what a plan counts is in its status and in the back-off, and the next plan counts the rest. None is made
// again.
func TestMoreEndsThanAPlanCounts(t *testing.T) {
	const pods = job.MaxPods + 100
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		t.Run(string(phase), func(t *testing.T) {
			spec := specOf(pods, pods)
			spec.CompletionMode, spec.BackoffLimit = batchv1.IndexedCompletion, 2*pods
			d := emptyDesk(t, spec)
			for len(d.pods) < pods {
				d.make()
			}
			var ended []job.PodFact
			for i := range d.pods {
				ended = append(ended, d.end(i+1, phase))
			}
			d.state = d.state.Observe(ended)
			for _, counted := range []int32{job.MaxPods, pods} {
				plan := d.decide()
				equal(t, "creates", len(plan.Creates), 0)
				d.apply(plan, job.Report{})
				if phase == corev1.PodFailed {
					equal(t, "failed", plan.Status.Failed, counted)
					equal(t, "failures of the back-off", d.state.Backoff.Failures, counted)
					continue
				}
				equal(t, "succeeded", plan.Status.Succeeded, counted)
				equal(t, "completed", int32(job.ParseIndexes(plan.Status.CompletedIndexes).Len()), counted)
			}
		})
	}
}

// TestASuccessCountsAllPodsThatHadEnded: what its plan left to the next is counted by that, though a success counts none of those that run.
func TestASuccessCountsAllPodsThatHadEnded(t *testing.T) {
	cutPlans(t, 2)
	spec := specOf(4, 4)
	spec.CompletionMode, spec.HasSuccessPolicy = batchv1.IndexedCompletion, true
	c := newCluster(t, spec)
	c.policy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: pointer[int32](1)}}}
	c.settle().succeed(2).fail(1).deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 1, 2, 1})
	c.drain().deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 0, 2, 1})
	equal(t, "conditions", conditionsOf(c.status), []string{"SuccessCriteriaMet/SuccessPolicy", "Complete/SuccessPolicy"})
}

// TestMoreEndsThanAPlanCountsChangeNothing: a plan with nothing to write goes on to the next, as where Pods that are ignored have vanished.
func TestMoreEndsThanAPlanCountsChangeNothing(t *testing.T) {
	cutPlans(t, 2)
	spec := specOf(5, 5)
	spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionIgnore,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}},
	}}}
	d := emptyDesk(t, spec)
	for len(d.pods) < 5 {
		d.make()
	}
	for i := range d.pods {
		d.end(i+1, corev1.PodFailed)
		d.pods[i].Exits = []job.Exit{{Container: "main", Code: 1}}
	}
	d.state = d.state.Observe(d.pods)
	d.pods = nil
	d.listed()
	d.apply(d.decide(), job.Report{})
	d.now = d.now.Add(time.Hour / 2)
	plan := d.decide()
	equal(t, "wake", plan.Wake, job.Wake{At: d.now, Reason: job.WakeRest})
	d.state = plan.Next
	plan = d.decide()
	equal(t, "creates", len(plan.Creates), 2)
}
