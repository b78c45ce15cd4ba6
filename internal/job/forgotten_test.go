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
	d.state = d.state.Observe([]job.PodFact{removed})
	plan := d.decide()
	equal(t, "failed", plan.Status.Failed, 0)
	equal(t, "replaced", len(plan.Creates), 1)
}

// The forgotten plan's worker died between the finalizer and the delete.
func TestAPodThatAForgottenPlanHalfRemovedIsDeleted(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	removed := d.pods[0]
	removed.Removed, removed.Tracked = true, false
	removed.Version++
	d.state = d.state.Observe([]job.PodFact{removed})
	plan := d.decide()
	equal(t, "deletes", deleted(plan), []string{"pod-1"})
	d.apply(plan, job.Report{})
	removed.Gone = true
	d.state = d.state.Observe([]job.PodFact{removed})
	plan = d.decide()
	equal(t, "creates", len(plan.Creates), 1)
	equal(t, "failed", plan.Next.Failed, 0)
}

func TestAPodThatAForgottenPlanCreatedCountsWhenItVanishes(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	forgotten := job.PodFact{Name: "work-2", UID: "pod-2", Attempt: 2, Phase: corev1.PodRunning, Tracked: true, Version: 2}
	gone := forgotten
	gone.Tracked, gone.Gone, gone.Version = false, true, 3
	for name, facts := range map[string][]job.PodFact{"told in order": {forgotten, gone}, "told late": {gone, forgotten}} {
		t.Run(name, func(t *testing.T) {
			state := d.state.Observe(facts)
			equal(t, "failed", job.Decide(job.DefaultConfig(), state, d.spec, d.now).Next.Failed, 1)
		})
	}
	t.Run("but not when it may have been counted", func(t *testing.T) {
		state := d.state.Observe([]job.PodFact{gone})
		equal(t, "failed", job.Decide(job.DefaultConfig(), state, d.spec, d.now).Next.Failed, 0)
	})
}

// The next plan has asked for another index first, so that two Pods have one number.
func TestAPodWhoseNumberAnotherHasIsCounted(t *testing.T) {
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

// The next plan has asked for it by its name, and was refused, when a late fact came.
func TestAPodThatAForgottenPlanCreatedCountsOnce(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	forgotten := job.PodFact{Name: "?", UID: "pod-2", Attempt: 2, Phase: corev1.PodSucceeded, Tracked: true, Version: 2}
	wanted := d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	forgotten.Name = job.Decide(job.DefaultConfig(), wanted, d.spec, d.now).Creates[0].Name
	d.state = d.state.Observe([]job.PodFact{forgotten})
	d.apply(d.decide(), job.Report{})
	equal(t, "succeeded", d.state.Succeeded, 1)
	d.spec.Parallelism, d.spec.Completions = 2, pointer[int32](3)
	plan := d.decide()
	equal(t, "asks for it", plan.Creates[0].Name, forgotten.Name)
	d.apply(plan, job.Report{CreateRefused: "exceeded quota"})
	d.state = d.state.Observe([]job.PodFact{forgotten})
	equal(t, "succeeded", d.decide().Next.Succeeded, 1)
}

// One of the names is taken; of the other a Pod may exist, or a plan that is forgotten has
// made it.
func TestAPodBesideANameThatIsTakenIsCounted(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.state = job.NewState("default", "hello", "uid-1")
	plan := d.decide()
	d.apply(plan, job.Report{CreateRefused: "already exists", NameTaken: true})
	d.pods = []job.PodFact{{Name: plan.Creates[1].Name, UID: "pod-2", Attempt: 2, Phase: corev1.PodSucceeded, Tracked: true, Version: 2}}
	equal(t, "list", d.decide().List, true)
	d.listed()
	d.now = d.now.Add(time.Second)
	plan = d.decide()
	equal(t, "succeeded", plan.Status.Succeeded, 1)
	equal(t, "the next attempt", plan.Creates[0].Attempt, 3)
}

func TestAPodThatAForgottenPlanCreatedIsFoundBeforeAVerdict(t *testing.T) {
	spec := specOf(1, 1)
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.apply(d.decide(), job.Report{})
	// After the back-off a second Pod was created; the task was repeated after the limit
	// had been lowered.
	d.now = start.Add(11 * time.Second)
	forgotten := d.decide()
	equal(t, "creates", len(forgotten.Creates), 1)
	d.pods = append(d.pods, job.PodFact{
		Name: forgotten.Creates[0].Name, UID: "pod-2", Attempt: 2, Phase: corev1.PodRunning, Tracked: true, Version: 1,
	})
	lowered := spec
	lowered.BackoffLimit = 0
	d.state, d.spec = d.state.Edited(d.spec, lowered)
	plan := d.decide()
	equal(t, "list", plan.List, true)
	d.listed()
	plan = d.decide()
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/BackoffLimitExceeded"})
	equal(t, "deletes", deleted(plan), []string{"pod-2"})
}

// The way of nearly every Job costs no list.
func TestAJobWhosePodsSucceedListsNothing(t *testing.T) {
	d := newDesk(t, specOf(3, 3))
	for number := range 3 {
		d.state = d.state.Observe([]job.PodFact{d.end(number+1, corev1.PodSucceeded)}).Heard(d.now)
		plan := d.decide()
		equal(t, "list", plan.List, false)
		d.apply(plan, job.Report{})
	}
	equal(t, "outcome", d.decide().Finished.Outcome, job.Complete)
}

// A plan that is forgotten may have written a status that the next one does not want, and
// would take for written.
func TestAStatusThatAForgottenPlanMayHaveWrittenIsWrittenAnew(t *testing.T) {
	t.Run("for another spec", func(t *testing.T) {
		d := newDesk(t, specOf(1, 1))
		d.apply(d.decide(), job.Report{})
		equal(t, "status", d.decide().Status == nil, true)
		again := d.spec
		again.Generation += 2 // suspended meanwhile, and resumed
		d.state, d.spec = d.state.Edited(d.spec, again)
		plan := d.decide()
		equal(t, "active", plan.Status.Active, 1)
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
		d.state = d.state.Observe([]job.PodFact{stranger, disowned})
		equal(t, "status", d.decide().Status != nil, true)
	})
	t.Run("after what is to be said", func(t *testing.T) {
		d := newDesk(t, specOf(1, 1))
		d.apply(d.decide(), job.Report{})
		again := d.spec
		again.Generation, again.Mistakes = again.Generation+2, []string{"unreadable"}
		d.state, d.spec = d.state.Edited(d.spec, again)
		plan := d.decide()
		equal(t, "events, and a status", [2]bool{len(plan.Events) == 1, plan.Status != nil}, [2]bool{true, false})
		d.apply(plan, job.Report{})
		plan = d.decide()
		equal(t, "events, and a status", [2]bool{len(plan.Events) == 1, plan.Status != nil}, [2]bool{false, true})
	})
}

func TestAPodOfOthersThatAForgottenPlanReleasedIsCounted(t *testing.T) {
	d := newDesk(t, specOf(1, 1))
	stranger := job.PodFact{Name: "stranger", UID: "other", Phase: corev1.PodFailed, Tracked: true, Version: 2}
	released := stranger
	released.Tracked, released.Version = false, 3
	d.state = d.state.Observe([]job.PodFact{stranger, released})
	equal(t, "failed", d.decide().Status.Failed, 1)
}

// The list is older than a plan that has created Pods and is forgotten: the workflow task
// that begins with its answer is repeated, and the deadline has passed.
func TestAListFromBeforeTheDeadlineIsNotEnoughForTheVerdict(t *testing.T) {
	spec := specOf(1, 1)
	spec.ActiveDeadlineSeconds = pointer[int64](60)
	d := newDesk(t, spec)
	d.apply(d.decide(), job.Report{})
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.state.Strange = true
	d.now = start.Add(50 * time.Second)
	asked := d.now
	answer := job.List{Pods: slices.Clone(d.pods), Attempts: 1}
	before := d.state
	d.state = before.Listed(answer, asked)
	equal(t, "creates", len(d.decide().Creates), 1)

	d.now = start.Add(70 * time.Second)
	d.state = before.Listed(answer, asked)
	equal(t, "list", d.decide().List, true)
	d.listed()
	equal(t, "conditions", conditionsOf(*d.decide().Status), []string{"FailureTarget/DeadlineExceeded", "Failed/DeadlineExceeded"})
}
