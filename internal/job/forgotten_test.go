package job_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// A workflow task that is repeated may come to another plan than the attempt before, of
// which nothing is remembered but what it did.

func TestAPodThatAForgottenPlanRemovedIsNoFailure(t *testing.T) {
	spec := specOf(1, 1)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	// A suspension removed the Pod, and was taken back before the task was repeated.
	removed := d.pods[0]
	removed.Removed, removed.Deleting, removed.Tracked = true, true, false
	removed.Version++
	d.pods[0] = removed
	d.state = d.state.Observe([]job.PodFact{removed})
	d.apply(d.decide(), job.Report{Unseen: []string{"pod-1"}})
	d.listed()
	plan := d.decide()
	equal(t, "failed", plan.Status.Failed, 0)
	equal(t, "replaced", len(plan.Creates), 1)
}

// The call gave way between the finalizer and the delete, and the suspension was lifted.
func TestAPodThatIsHalfRemovedIsDeleted(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.suspend()
	plan := d.decide()
	equal(t, "terminate", plan.Terminate, job.TerminateForSuspension)
	d.state = plan.Asked()
	d.pods[0].Removed, d.pods[0].Tracked = true, false
	d.pods[0].Version++
	removed := d.pods[0]
	d.resume()
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan = d.decide()
	equal(t, "deletes", deleted(plan), []string{"pod-1"})
	d.apply(plan, job.Report{})
	removed.Gone = true
	d.state = d.state.Observe([]job.PodFact{removed})
	plan = d.decide()
	equal(t, "creates", len(plan.Creates), 1)
	equal(t, "failed", plan.Next.Failed, 0)
}

// Anybody may have made the fact up.
func TestAPodThatNoListHoldsIsNotBelieved(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	unknown := job.PodFact{Name: "work-2", UID: "pod-2", Attempt: 2, Phase: corev1.PodFailed, Tracked: true, Version: 2}
	d.state = d.state.Observe([]job.PodFact{unknown})
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan := d.decide()
	equal(t, "failed", plan.Next.Failed, 0)
	equal(t, "list again", plan.List, false)
	released := unknown
	released.Tracked = false
	d.state = d.state.Observe([]job.PodFact{released})
	equal(t, "list of a Pod without the finalizer", d.decide().List, false)
}

func TestAPodOfAnIndexThatNobodyHasAskedForIsCounted(t *testing.T) {
	spec := specOf(1, 3)
	spec.CompletionMode = batchv1.IndexedCompletion
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	d.apply(d.decide(), job.Report{})
	forgotten := job.PodFact{Name: "work-2", UID: "pod-9", Attempt: 1, Index: pointer[int32](2), Phase: corev1.PodSucceeded, Tracked: true, Version: 2}
	d.state = d.state.Observe([]job.PodFact{forgotten})
	equal(t, "list", d.decide().List, true)
	d.pods = append(d.pods, forgotten)
	d.listed()
	plan := d.decide()
	equal(t, "completed", plan.Status.CompletedIndexes, "0,2")
	equal(t, "releases", slices.Contains(releasedBy(plan), "pod-9"), true)

	t.Run("once", func(t *testing.T) {
		d.release("pod-9")
		d.apply(plan, job.Report{})
		d.state = d.state.Observe([]job.PodFact{forgotten})
		d.listed()
		equal(t, "completed", d.decide().Next.Completed.String(), "0,2")
		equal(t, "failed", d.decide().Next.Failed, 0)
	})
}

func TestAPodThatAForgottenPlanCreatedCountsOnce(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	wanted := d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	forgotten := job.PodFact{
		Name: job.Decide(wanted, d.spec, d.now).Creates[0].Name, UID: "pod-2",
		Attempt: 2, Phase: corev1.PodSucceeded, Tracked: true, Version: 2,
	}
	d.state = d.state.Observe([]job.PodFact{forgotten})
	d.pods = append(d.pods, forgotten)
	d.listed()
	d.spec.Parallelism, d.spec.Completions = 2, pointer[int32](3)
	plan := d.decide()
	equal(t, "succeeded", plan.Next.Succeeded, 2)
	equal(t, "releases", releasedBy(plan), []string{"pod-1", "pod-2"})
	d.release("pod-1")
	d.release("pod-2")
	equal(t, "the next attempt", plan.Creates[0].Attempt, 3)
	d.apply(plan, job.Report{})
	d.state = d.decide().Next
	d.state = d.state.Observe([]job.PodFact{forgotten})
	d.now = d.now.Add(time.Second)
	equal(t, "list", d.decide().List, true)
	d.listed()
	equal(t, "succeeded", d.decide().Next.Succeeded, 2)
}

// One of the names is taken; of the other a Pod may exist, or a plan that is forgotten has
// made it.
func TestAPodBesideANameThatIsTakenIsCounted(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.state = job.State{}.Of("default", "hello", "uid-1")
	plan := d.decide()
	d.apply(plan, job.Report{CreateRefused: "already exists", NameTaken: true})
	d.pods = []job.PodFact{{Name: plan.Creates[1].Name, UID: "pod-2", Attempt: 2, Phase: corev1.PodSucceeded, Tracked: true, Version: 2}}
	equal(t, "list", d.decide().List, true)
	d.listed()
	d.now = d.now.Add(time.Second)
	plan = d.decide()
	equal(t, "succeeded", plan.Status.Succeeded, 1)
	d.apply(plan, job.Report{})
	plan = d.decide()
	equal(t, "the next attempt", plan.Creates[0].Attempt, 3)
}

func TestAPodThatAForgottenPlanCreatedIsFoundBeforeAVerdict(t *testing.T) {
	spec := specOf(1, 1)
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.apply(d.decide(), job.Report{})
	d.release("pod-1")
	// After the back-off a second Pod was created; the task was repeated after the limit
	// had been lowered.
	d.now = start.Add(11 * time.Second)
	forgotten := d.decide()
	equal(t, "creates", len(forgotten.Creates), 1)
	d.pods = append(d.pods, job.PodFact{
		Name: forgotten.Creates[0].Name, UID: "pod-2", Attempt: 2, Phase: corev1.PodRunning, Tracked: true, Version: 1,
	})
	d.edit(func(spec *job.Spec) { spec.BackoffLimit = 0 })
	d.terminate(d.decide())
	equal(t, "it is deleted", d.pods[1].Deleting, true)
	plan := d.decide()
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/BackoffLimitExceeded"})
	equal(t, "failed", plan.Status.Failed, 2)
}

// The way of nearly every Job costs no list.
func TestAJobWhosePodsSucceedListsNothing(t *testing.T) {
	d := newDesk(t, specOf(3, 3))
	for number := range 3 {
		d.state = d.state.Observe([]job.PodFact{d.end(number+1, corev1.PodSucceeded)})
		plan := d.decide()
		equal(t, "list", plan.List, false)
		d.apply(plan, job.Report{})
	}
	equal(t, "outcome", d.decide().Finished.Outcome, job.Complete)
}

// The next plan would take a status for written that it does not want.
func TestAStatusThatMayHaveBeenWrittenIsWrittenAnew(t *testing.T) {
	t.Run("by a call without an answer", func(t *testing.T) {
		d := newDesk(t, specOf(1, 1))
		d.apply(d.decide(), job.Report{})
		equal(t, "status", d.decide().Status == nil, true)
		d.suspend()
		d.terminate(d.decide())
		suspended := d.decide()
		equal(t, "conditions", conditionsOf(*suspended.Status), []string{"Suspended/JobSuspended"})
		d.state = suspended.Asked()
		d.resume()
		plan := d.decide()
		equal(t, "conditions", len(conditionsOf(*plan.Status)), 0)
		d.apply(plan, job.Report{StatusRefused: "conflict"})
		d.listed()
		d.now = d.now.Add(time.Minute)
		d.apply(d.decide(), job.Report{})
		equal(t, "status, once it is written", d.decide().Status == nil, true)
	})
	t.Run("with a Pod that is disowned since", func(t *testing.T) {
		d := newDesk(t, specOf(1, 1))
		stranger := job.PodFact{Name: "stranger", UID: "other", Phase: corev1.PodFailed, Tracked: true, Version: 2}
		disowned := stranger
		disowned.Disowned, disowned.Tracked, disowned.Version = true, false, 3
		d.apply(d.decide(), job.Report{})
		d.pods = append(d.pods, stranger)
		d.listed()
		d.pods[1] = disowned
		d.now = d.now.Add(time.Second)
		d.state = d.state.Observe([]job.PodFact{disowned})
		equal(t, "list", d.decide().List, true)
		d.listed()
		equal(t, "status", d.decide().Status != nil, true)
	})
}

func TestAPodOfOthersThatAForgottenPlanReleasedIsCounted(t *testing.T) {
	d := newDesk(t, specOf(1, 1))
	stranger := job.PodFact{Name: "stranger", UID: "other", Phase: corev1.PodFailed, Tracked: true, Version: 2}
	released := stranger
	released.Tracked, released.Version = false, 3
	d.pods = append(d.pods, stranger)
	d.listed()
	d.state = d.state.Observe([]job.PodFact{released})
	equal(t, "failed", d.decide().Status.Failed, 1)
}
