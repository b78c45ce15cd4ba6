package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// rebuilt starts over from what there is of the Job, as after a status that is refused.
func (d *desk) rebuilt() {
	d.state = job.Reconstruct(d.state, d.spec, d.state.Status(), job.List{Facts: d.pods, Attempts: int64(len(d.pods))}, d.now)
}

func TestARebuildKeepsOneEvidenceOfAPod(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.apply(d.decide(), job.Report{StatusRefused: "conflict"})
	equal(t, "evidence", len(d.state.Evidence), 1)
	d.rebuilt()
	for _, pod := range d.state.Pods {
		equal(t, "fate", pod.Fate, job.Undecided)
	}
	d.now = d.now.Add(time.Minute)
	plan := d.decide()
	equal(t, "failed", plan.Status.Failed, 1)
	equal(t, "evidence", len(plan.Next.Evidence), 1)
}

func TestALateFactAfterARebuildCountsNothing(t *testing.T) {
	stranger := job.PodFact{Name: "stranger", UID: "stranger-1", Phase: corev1.PodSucceeded, Tracked: true, Version: 7}
	d := newDesk(t, specOf(1, 5))
	own := d.pods
	d.pods = append(own, stranger)
	d.listed()
	d.apply(d.decide(), job.Report{})
	equal(t, "succeeded", d.state.Succeeded, 1)
	d.pods = own
	d.rebuilt()
	d.state = d.state.Observe([]job.PodFact{stranger})
	equal(t, "succeeded", d.decide().Next.Succeeded, 1)
	d.listed()
	equal(t, "succeeded", d.decide().Next.Succeeded, 1)
}

// A Pod of an index was counted as failed, and not released, when the workflow was lost: its index has failed once, and waits.
func TestARebuildKeepsTheFailureOfACountedPod(t *testing.T) {
	spec := specOf(1, 1)
	spec.CompletionMode, spec.BackoffLimitPerIndex = batchv1.IndexedCompletion, pointer[int32](1)
	for _, tracked := range []bool{true, false} {
		failed := job.PodFact{Name: "hello-0", UID: "pod-1", Index: pointer[int32](0), Phase: corev1.PodFailed, Tracked: tracked, Finished: start}
		status := batchv1.JobStatus{StartTime: &metav1.Time{Time: start}, Failed: 1}
		list := job.List{Facts: []job.PodFact{failed}, Attempts: 1, Counted: []string{failed.UID}}
		state := job.Reconstruct(job.State{}.Of("default", "hello", "uid-1"), spec, status, list, start)
		soon := job.Decide(state, spec, start.Add(time.Second))
		if len(soon.Creates) > 0 || len(state.Indexes) != 1 {
			t.Errorf("tracked %v: creates %+v at once, failures %+v", tracked, soon.Creates, state.Indexes)
		}
	}
}

// A suspension removed a Pod that is not gone yet: its index has not failed, waits for nothing, and gets a Pod of a new name.
func TestARebuildCountsNoFailureOfARemovedPod(t *testing.T) {
	spec := specOf(1, 1)
	spec.CompletionMode, spec.BackoffLimitPerIndex = batchv1.IndexedCompletion, pointer[int32](1)
	own := names.IndexedPod("hello", "uid-1", 0, 1)
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed} {
		removed := job.PodFact{Name: own, UID: "pod-1", Index: pointer[int32](0), Attempt: 1, Phase: phase, Finished: start, Removed: true, Deleting: true}
		status := batchv1.JobStatus{StartTime: &metav1.Time{Time: start}}
		list := job.List{Facts: []job.PodFact{removed}, Attempts: 1}
		state := job.Reconstruct(job.State{}.Of("default", "hello", "uid-1"), spec, status, list, start)
		plan := job.Decide(state, spec, start.Add(time.Second))
		equal(t, "records", state.Indexes, job.IndexRecords{{Index: 0, Attempts: 1}})
		if len(plan.Creates) != 1 || plan.Creates[0].Name == own {
			t.Errorf("%s: creates %+v, want one of another name", phase, plan.Creates)
		}
	}
}

// A Pod that did not start in time was counted as failed, and its delete has failed, when the workflow was lost: it is deleted, and
// counts once.
func TestARebuildDeletesACountedPodThatRunsOn(t *testing.T) {
	late := job.PodFact{Name: "hello-0", UID: "pod-1", Phase: corev1.PodPending, Pending: job.PendingUnschedulable, Tracked: true}
	status := batchv1.JobStatus{StartTime: &metav1.Time{Time: start}, Failed: 1}
	list := job.List{Facts: []job.PodFact{late}, Attempts: 1, Counted: []string{late.UID}}
	state := job.Reconstruct(job.State{}.Of("default", "hello", "uid-1"), specOf(1, 1), status, list, start)
	plan := job.Decide(state, specOf(1, 1), start)
	equal(t, "deletes", deleted(plan), []string{late.UID})
	equal(t, "failed", plan.Next.Failed, 1)
}

// TestARebuildCountsNoPodThatWasEndedForASuccess: the verdict is on the Job before the first Pod is deleted for it, so the workflow may be lost
// between that and the status that gives the Pods up.
func TestARebuildCountsNoPodThatWasEndedForASuccess(t *testing.T) {
	spec := specOf(2, 2)
	spec.CompletionMode, spec.HasSuccessPolicy = batchv1.IndexedCompletion, true
	c := newCluster(t, spec)
	c.policy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: pointer[int32](1)}}}
	c.settle().run(2).succeed(1)
	c.noteVerdict(job.Verdict{Interim: batchv1.JobSuccessCriteriaMet, Reason: batchv1.JobReasonSuccessPolicy, Message: "Matched rules at index 0"})
	c.delete(c.pods[1])
	c.restart().settle().drain().deliver().settle()
	equal(t, "status", counts(c.status), [5]int32{0, 0, 0, 1, 0})
	equal(t, "conditions", conditionsOf(c.status), []string{"SuccessCriteriaMet/SuccessPolicy", "Complete/SuccessPolicy"})
}
