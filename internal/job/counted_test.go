package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestWhatIsNotSoIsDropped: a Pod that was said to have ended runs on, until a list has shown it.
func TestWhatIsNotSoIsDropped(t *testing.T) {
	for name, fact := range map[string]job.PodFact{
		"succeeded": {UID: "pod-1", Phase: corev1.PodSucceeded}, "deleting": {UID: "pod-1", Deleting: true, Tracked: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(2, 2))
			d.state = d.state.Observe([]job.PodFact{fact})
			plan := d.decide()
			equal(t, "counted", len(plan.Counted), 1)
			d.apply(plan, job.Report{Unseen: []string{"pod-1"}})
			equal(t, "list", d.decide().List, true)
			d.listed()
			plan = d.decide()
			equal(t, "idle", plan.Idle(), true)
			equal(t, "active", plan.Next.Status().Active, 2)
			d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
			equal(t, "succeeded", d.decide().Status.Succeeded, 1)
		})
	}
}

// TestAListTellsWhatASignalMayNot: whether a Pod keeps its finalizer, was removed, is gone, and is the Job's.
func TestAListTellsWhatASignalMayNot(t *testing.T) {
	for name, fact := range map[string]job.PodFact{
		"untracked": {UID: "pod-1", Phase: corev1.PodRunning}, "removed": {UID: "pod-1", Removed: true}, "disowned": {UID: "pod-1", Disowned: true},
		"gone": {UID: "pod-1", Gone: true}, "gone, and has succeeded": {UID: "pod-1", Gone: true, Phase: corev1.PodSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(2, 2))
			d.apply(d.decide(), job.Report{})
			d.state = d.state.Observe([]job.PodFact{fact})
			equal(t, "list", d.decide().List, fact.Disowned || fact.Gone)
			d.listed()
			equal(t, "creates", len(d.decide().Creates), 0)
			d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
			plan := d.decide()
			equal(t, "succeeded", plan.Status.Succeeded, 1)
			equal(t, "releases", releasedBy(plan), []string{"pod-1"})
		})
	}
}

// TestAPodThatWasReleasedMayBeGone: whether another deletes it or the Job is suspended, no list has to tell.
func TestAPodThatWasReleasedMayBeGone(t *testing.T) {
	for name, end := range map[string]func(*desk){
		"deleted": func(d *desk) {
			d.pods[0].Deleting = true
			d.state = d.state.Observe(d.pods)
			plan := d.decide()
			equal(t, "releases", releasedBy(plan), []string{"pod-1"})
			d.apply(plan, job.Report{})
		},
		"removed": func(d *desk) {
			d.suspend()
			d.terminate(d.decide())
			d.apply(d.decide(), job.Report{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(1, 1))
			end(d)
			d.now = d.now.Add(10 * time.Second)
			d.pods[0].Gone, d.pods[0].Tracked = true, false
			d.state = d.state.Observe(d.pods)
			plan := d.decide()
			equal(t, "list", plan.List, false)
			equal(t, "Pods", len(plan.Next.Pods), 0)
		})
	}
}

// TestAVerdictOnWhatIsNotSoIsDropped: before any Pod is deleted for it.
func TestAVerdictOnWhatIsNotSoIsDropped(t *testing.T) {
	spec := specOf(2, 2)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	d.apply(d.decide(), job.Report{})
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodFailed}})
	plan := d.decide()
	equal(t, "terminate", plan.Terminate, job.TerminateForVerdict)
	equal(t, "what it rests on", plan.Counted, []job.Counted{{Name: d.pods[0].Name, UID: "pod-1", Fate: job.PodFailed}})
	equal(t, "failed", plan.Status.Failed, 1)
	d.apply(plan, job.Report{Unseen: []string{"pod-1"}})
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan = d.decide()
	equal(t, "idle", plan.Idle(), true)
	equal(t, "active", plan.Next.Status().Active, 2)

	spec.PendingDeadlineSeconds = 60
	d = newDesk(t, spec)
	for i := range d.pods {
		d.pods[i].Phase, d.pods[i].Pending = corev1.PodPending, job.PendingUnschedulable
	}
	d.state = job.Decide(job.State{}.Of("default", "hello", "uid-1").Listed(job.List{Facts: d.pods}, d.now), spec, d.now).Next
	d.now = d.now.Add(time.Minute)
	d.listed()
	plan = d.decide()
	equal(t, "terminate", plan.Terminate, job.TerminateForVerdict)
	equal(t, "Pods that have not started", deleted(plan), []string{"pod-1", "pod-2"})
	d.state = plan.Asked() // There was no answer, and none was deleted.
	d.pods[1].Phase, d.pods[1].Pending = corev1.PodRunning, ""
	d.listed()
	equal(t, "Pods that have still not started", deleted(d.decide()), []string{"pod-1"})
	equal(t, "failed", d.decide().Status.Failed, 1)

	spec.BackoffLimit, spec.RestartPolicy = 3, corev1.RestartPolicyOnFailure
	d = newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodRunning, Restarts: 7}})
	d.apply(d.decide(), job.Report{NoReason: "no Pod was restarted"})
	d.now = d.now.Add(time.Minute)
	equal(t, "list", d.decide().List, true)
	d.listed()
	equal(t, "idle", d.decide().Idle(), true)
}

// TestAPodThatIsGoneFailsByNoRule: it was said to match one, was removed by force, and nothing shows how it ended. So the verdict is
// refused once, and it counts as failed.
func TestAPodThatIsGoneFailsByNoRule(t *testing.T) {
	spec := specOf(2, 2)
	spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1},
		},
	}}}
	d := newDesk(t, spec)
	d.apply(d.decide(), job.Report{})
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodFailed, Exits: []job.Exit{{Container: "main", Code: 1}}}})
	plan := d.decide()
	equal(t, "verdict", plan.Next.Verdict.Reason, batchv1.JobReasonPodFailurePolicy)
	d.apply(plan, job.Report{NoReason: "no Pod matches a rule"})
	d.pods, d.now = d.pods[1:], d.now.Add(time.Minute)
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan = d.decide()
	equal(t, "terminate", plan.Terminate, "")
	equal(t, "failed", plan.Next.Failed, 1)
	equal(t, "active", plan.Next.Status().Active, 1)
}

// TestAVerdictThatHasLostItsReasonIsDropped: no Pod had to be ended for it, so the Job does not have it, and the deadline is moved before
// a status is taken.
func TestAVerdictThatHasLostItsReasonIsDropped(t *testing.T) {
	spec := specOf(1, 1)
	spec.ActiveDeadlineSeconds = pointer[int64](30)
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.apply(d.decide(), job.Report{})
	d.pods, d.now = nil, d.now.Add(time.Minute)
	d.listed()
	d.terminate(d.decide())
	d.edit(func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer[int64](3600) })
	d.apply(d.decide(), job.Report{NoReason: "the deadline is away"})
	d.now = d.now.Add(time.Minute)
	plan := d.decide()
	equal(t, "made anew", plan.Rebuild, true)
	d.state = job.Reconstruct(d.state, d.spec, d.state.Status(), job.List{Attempts: 1}, d.now)
	equal(t, "creates", len(d.decide().Creates), 1)
}

// TestAPodOfWhichNothingIsKnownIsNotGivenUp: it was said to have ended right after a list, that is not so, and it has started.
func TestAPodOfWhichNothingIsKnownIsNotGivenUp(t *testing.T) {
	spec := specOf(2, 2)
	spec.PendingDeadlineSeconds = 60
	d := newDesk(t, spec)
	d.apply(d.decide(), job.Report{})
	d.now = d.now.Add(2 * time.Minute)
	d.listed()
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodFailed}})
	d.apply(d.decide(), job.Report{Unseen: []string{"pod-1"}})
	equal(t, "idle", d.decide().Idle(), true)
	d.now = d.now.Add(time.Second)
	equal(t, "list", d.decide().List, true)
	d.listed()
	equal(t, "failed", d.decide().Next.Failed, 0)
}

// TestANumberThatDiffersIsWrittenAgain: the watch sees other Pods than the status says, and the State may know them all.
func TestANumberThatDiffersIsWrittenAgain(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.apply(d.decide(), job.Report{})
	equal(t, "idle", d.decide().Idle(), true)
	d.state = d.state.Doubted()
	d.now = d.now.Add(time.Minute)
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan := d.decide()
	equal(t, "active", plan.Status.Active, 2)
	d.apply(plan, job.Report{})
	equal(t, "idle", d.decide().Idle(), true)
}

// TestAPodThatTerminatesIsNamed: where it is replaced when it has ended, nothing else is counted of it.
func TestAPodThatTerminatesIsNamed(t *testing.T) {
	spec := specOf(2, 2)
	spec.PodReplacementPolicy = batchv1.Failed
	d := newDesk(t, spec)
	d.apply(d.decide(), job.Report{})
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Deleting: true, Tracked: true}})
	plan := d.decide()
	equal(t, "counted", plan.Counted, []job.Counted{{Name: d.pods[0].Name, UID: "pod-1"}})
	d.apply(plan, job.Report{Unseen: []string{"pod-1"}})
	d.listed()
	equal(t, "active", d.decide().Next.Status().Active, 2)
}

// TestAPodThatIsTakenBackIsCountedAnew: it was let go since the Job was being deleted, and a restore of etcd has reverted that.
func TestAPodThatIsTakenBackIsCountedAnew(t *testing.T) {
	d := newDesk(t, specOf(1, 1))
	d.edit(func(spec *job.Spec) { spec.Deleting = true })
	d.listed()
	plan := d.decide()
	d.apply(plan, job.Report{StatusRefused: "conflict"})
	d.edit(func(spec *job.Spec) { spec.Deleting = false })
	d.listed()
	d.now = d.now.Add(time.Minute)
	plan = d.decide()
	equal(t, "counted", plan.Counted, []job.Counted{{Name: d.pods[0].Name, UID: "pod-1", Fate: job.PodUncounted}})
	d.apply(plan, job.Report{Unseen: []string{"pod-1"}})
	equal(t, "made anew", d.decide().Rebuild, true)
}

// TestWhatIsRefutedRightAfterAListIsAskedAgainLater: the same list would lead to the same plan, ten times a second.
func TestWhatIsRefutedRightAfterAListIsAskedAgainLater(t *testing.T) {
	d := newDesk(t, specOf(1, 1))
	d.edit(func(spec *job.Spec) { spec.Deleting = true })
	d.listed()
	d.apply(d.decide(), job.Report{StatusRefused: "conflict"})
	d.edit(func(spec *job.Spec) { spec.Deleting = false })
	d.now = d.now.Add(time.Minute)
	d.listed()
	d.apply(d.decide(), job.Report{Unseen: []string{"pod-1"}})
	equal(t, "made anew at once", d.decide().Rebuild, false)
	d.now = d.now.Add(time.Second)
	equal(t, "made anew", d.decide().Rebuild, true)
}

// TestAPodBesideWhichNoneIsMadeIsLookedAt: it was said to have failed.
func TestAPodBesideWhichNoneIsMadeIsLookedAt(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodFailed, Finished: d.now}})
	d.now = d.now.Add(time.Minute)
	d.apply(d.decide(), job.Report{CreateRefused: "NotPrescribed", Unseen: []string{"pod-1"}})
	d.listed()
	plan := d.decide()
	equal(t, "creates", len(plan.Creates), 0)
	equal(t, "failed", plan.Next.Failed, 0)
}

// TestAPodThatNothingShowsIsNotCounted: it was said to have ended, that is not so, and it is gone.
func TestAPodThatNothingShowsIsNotCounted(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.state = d.state.Observe([]job.PodFact{{UID: "pod-1", Phase: corev1.PodSucceeded}})
	d.apply(d.decide(), job.Report{Unseen: []string{"pod-1"}})
	d.pods = d.pods[1:]
	d.listed()
	plan := d.decide()
	equal(t, "counters", [2]int32{plan.Next.Succeeded, plan.Next.Failed}, [2]int32{0, 0})
	equal(t, "creates", len(plan.Creates), 1)
}

// TestAPlanCountsAsManyPodsAsOneReleases: the rest is counted by the next, and nothing is made meanwhile.
func TestAPlanCountsAsManyPodsAsOneReleases(t *testing.T) {
	d := newDesk(t, specOf(500, 2000))
	for len(d.pods) < 700 { // Others have made some.
		d.pods = append(d.pods, job.PodFact{Name: uidOf(len(d.pods) + 1), UID: uidOf(len(d.pods) + 1), Phase: corev1.PodRunning, Tracked: true, Version: 1})
	}
	for i := range d.pods {
		d.end(i+1, corev1.PodSucceeded)
	}
	d.listed()
	plan := d.decide()
	equal(t, "counted", len(plan.Counted), 500)
	equal(t, "creates", len(plan.Creates), 0)
	d.apply(plan, job.Report{})
	plan = d.decide()
	equal(t, "succeeded", plan.Status.Succeeded, 700)
	equal(t, "creates", len(plan.Creates), 500)
}

// TestAFailureCountsThePodsThatItEnds: one that succeeded before any delete has succeeded, whatever a signal said of it.
func TestAFailureCountsThePodsThatItEnds(t *testing.T) {
	failing := &batchv1.Job{Status: batchv1.JobStatus{
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}},
	}}
	for name, test := range map[string]struct {
		fact  job.PodFact
		shown bool
	}{
		"runs":                        {job.PodFact{Phase: corev1.PodRunning}, true},
		"failed":                      {job.PodFact{Phase: corev1.PodFailed}, true},
		"succeeded":                   {job.PodFact{Phase: corev1.PodSucceeded}, false},
		"is deleted, and succeeded":   {job.PodFact{Phase: corev1.PodSucceeded, Deleting: true}, true},
		"is deleted, and runs still":  {job.PodFact{Phase: corev1.PodRunning, Deleting: true}, true},
		"is another's by its owner":   {job.PodFact{Phase: corev1.PodRunning, Disowned: true}, false},
		"was let go to be taken away": {job.PodFact{Phase: corev1.PodRunning, Removed: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "shown", job.Counted{UID: "pod-1", Fate: job.PodFailed}.Shown(failing, test.fact, false), test.shown)
		})
	}
}
