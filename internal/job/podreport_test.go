package job_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// desk decides for a Job of running Pods and takes in the reports, step by step.
type desk struct {
	t     *testing.T
	spec  job.Spec
	state job.State
	now   time.Time
	pods  []job.PodFact
	// just is set when the Pods have just been listed.
	just bool
}

func newDesk(t *testing.T, spec job.Spec) *desk {
	d := &desk{t: t, spec: spec, state: job.State{}.Of("default", "hello", "uid-1"), now: start}
	plan := d.decide()
	var report job.Report
	for i, create := range plan.Creates {
		report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: uidOf(i + 1)})
		d.pods = append(d.pods, job.PodFact{Name: create.Name, UID: uidOf(i + 1), Attempt: create.Attempt, Phase: corev1.PodRunning, Tracked: true, Version: 1, Index: create.Index})
	}
	d.apply(plan, report)
	d.state = d.state.Observe(d.pods)
	return d
}

// make carries out the creates of a plan.
func (d *desk) make() {
	plan := d.decide()
	var report job.Report
	for _, create := range plan.Creates {
		uid := uidOf(len(d.pods) + 1)
		report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: uid})
		d.pods = append(d.pods, job.PodFact{Name: create.Name, UID: uid, Attempt: create.Attempt, Index: create.Index, Tracked: true, Version: 1})
	}
	d.apply(plan, report)
}

func (d *desk) decide() job.Plan {
	if d.just {
		return job.DecideListed(d.state, d.spec, d.now)
	}
	return job.Decide(d.state, d.spec, d.now)
}

func (d *desk) apply(plan job.Plan, report job.Report) {
	d.state, d.just = job.Apply(plan, report, d.now), false
}

// listed lists the Pods as they are.
func (d *desk) listed() {
	d.state, d.just = d.state.Listed(job.List{Facts: d.pods, Attempts: int64(len(d.pods))}, d.now), true
}

// terminate ends the Pods as a plan asks; those that are named are not.
func (d *desk) terminate(plan job.Plan, failing ...string) {
	d.t.Helper()
	if plan.Terminate == "" {
		d.t.Fatalf("no Pods are to be ended: %+v", plan)
	}
	var failures []job.PodFailure
	for _, target := range plan.Terminate.Targets(d.pods, nil, nil) {
		i := slices.IndexFunc(d.pods, func(pod job.PodFact) bool { return pod.UID == target.UID })
		if slices.Contains(failing, target.UID) {
			failures = append(failures, job.PodFailure{UID: target.UID, Message: "the webhook does not answer"})
			continue
		}
		d.pods[i].Deleting, d.pods[i].Removed = true, target.Release
		d.pods[i].Tracked = d.pods[i].Tracked && !target.Release
		d.pods[i].Version++
	}
	list := job.List{Facts: d.pods, Attempts: int64(len(d.pods)), Failures: failures}
	d.state = plan.Terminated(list.Short(plan.Asked().Undecided()), d.now, d.now)
}

func (d *desk) edit(change func(*job.Spec)) {
	edited := d.spec
	change(&edited)
	edited.Generation++
	d.state, d.spec = d.state.Edited(d.spec, edited)
}

func (d *desk) suspend() { d.edit(func(spec *job.Spec) { spec.Suspend = true }) }

func (d *desk) resume() { d.edit(func(spec *job.Spec) { spec.Suspend = false }) }

func (d *desk) end(number int, phase corev1.PodPhase) job.PodFact {
	d.pods[number-1].Phase, d.pods[number-1].Finished = phase, d.now
	d.pods[number-1].Version++
	return d.pods[number-1]
}

func deleted(plan job.Plan) (uids []string) {
	for _, wanted := range plan.Deletes {
		uids = append(uids, wanted.UID)
	}
	slices.Sort(uids)
	return uids
}

func releasedBy(plan job.Plan) (uids []string) {
	for _, wanted := range plan.Releases {
		uids = append(uids, wanted.UID)
	}
	return uids
}

// An admission webhook that does not answer, for one Pod: the Job goes on without it.
func TestADeleteThatFailsHoldsUpNothingElse(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.suspend()
	d.terminate(d.decide(), "pod-2")
	plan := d.decide()
	equal(t, "suspended", conditionsOf(*plan.Status), []string{"Suspended/JobSuspended"})
	equal(t, "active", plan.Status.Active, 1)
	d.apply(plan, job.Report{})

	plan = d.decide()
	equal(t, "another attempt at once", plan.Terminate, "")
	equal(t, "wake", plan.Wake, job.Wake{At: start.Add(time.Second), Reason: job.WakePodRetry})
	d.now = start.Add(time.Second)
	d.terminate(d.decide(), "pod-2")
	equal(t, "back-off", d.decide().Wake.At, start.Add(3*time.Second))

	d.now = start.Add(3 * time.Second)
	d.terminate(d.decide())
	d.pods[0].Gone, d.pods[1].Gone = true, true
	d.state = d.state.Observe(d.pods)
	equal(t, "Pods left", len(d.decide().Next.Pods), 0)
	equal(t, "failed", d.decide().Next.Failed, 0)
}

// The Pod runs on, so that it keeps its place; the others are replaced.
func TestAPodThatCannotBeDeletedHoldsUpNoCreate(t *testing.T) {
	d := newDesk(t, specOf(3, 3))
	d.suspend()
	d.terminate(d.decide(), "pod-2")
	d.apply(d.decide(), job.Report{})
	d.resume()
	plan := d.decide()
	equal(t, "creates", len(plan.Creates), 2)
	equal(t, "active", plan.Status.Active, 3)
	d.state = d.state.Observe([]job.PodFact{d.end(2, corev1.PodSucceeded)})
	equal(t, "it counts when it succeeds", d.decide().Next.Succeeded, 1)
}

func TestAReleaseThatFailsIsRepeatedUntilTheEnd(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	plan := d.decide()
	equal(t, "releases", releasedBy(plan), []string{"pod-1"})
	d.apply(plan, job.Report{Failures: []job.PodFailure{{UID: "pod-1", Message: "denied by policy"}}})
	d.state = d.state.Observe([]job.PodFact{d.end(2, corev1.PodSucceeded)})
	plan = d.decide()
	equal(t, "the other Pod's release", releasedBy(plan), []string{"pod-2"})
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"})
	equal(t, "succeeded", plan.Status.Succeeded, 2)
	d.apply(plan, job.Report{})

	plan = d.decide()
	equal(t, "ends before the Pod is released", plan.Finished, nil)
	d.now = plan.Wake.At
	plan = d.decide()
	equal(t, "release again", releasedBy(plan), []string{"pod-1"})
	d.apply(plan, job.Report{})
	equal(t, "outcome", d.decide().Finished.Outcome, job.Complete)
}

// A Pod that a delete finds gone needs no other fact to be over.
func TestAPodThatADeleteFindsGoneIsOver(t *testing.T) {
	spec := specOf(2, 2)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	d.terminate(d.decide(), "pod-2")
	d.apply(d.decide(), job.Report{})
	d.now = d.now.Add(time.Minute)
	plan := d.decide()
	equal(t, "deletes", deleted(plan), []string{"pod-2"})
	d.apply(plan, job.Report{Vanished: []string{"pod-2"}})
	plan = d.decide()
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/BackoffLimitExceeded", "Failed/BackoffLimitExceeded"})
}

func TestSuspendCountsAPodThatHasSucceeded(t *testing.T) {
	t.Run("by the answer", func(t *testing.T) {
		d := newDesk(t, specOf(1, 2))
		d.end(1, corev1.PodSucceeded) // and nobody told
		d.suspend()
		d.terminate(d.decide())
		equal(t, "succeeded", d.decide().Status.Succeeded, 1)
	})
	t.Run("by the delete that finds it", func(t *testing.T) {
		d := newDesk(t, specOf(2, 2))
		fewer := specOf(1, 2)
		d.state, d.spec = d.state.Edited(d.spec, fewer)
		d.listed()
		plan := d.decide()
		equal(t, "deletes", deleted(plan), []string{"pod-2"})
		d.pods[0], d.pods[1] = d.pods[1], d.pods[0]
		d.apply(plan, job.Report{Unexpected: []job.PodFact{d.end(1, corev1.PodSucceeded)}})
		plan = d.decide()
		equal(t, "succeeded", plan.Status.Succeeded, 1)
		equal(t, "releases", releasedBy(plan), []string{"pod-2"})
	})
	t.Run("with parallelism 0", func(t *testing.T) {
		d := newDesk(t, specOf(1, 2))
		d.end(1, corev1.PodSucceeded)
		none := specOf(0, 2)
		d.state, d.spec = d.state.Edited(d.spec, none)
		equal(t, "list", d.decide().List, true)
		d.listed()
		equal(t, "succeeded", d.decide().Status.Succeeded, 1)
	})
}

// What is counted and not released is noted, so that who starts over counts it once.
func TestPodsThatAreCountedAndNotReleasedCountOnce(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		t.Run(string(phase), func(t *testing.T) {
			d := newDesk(t, specOf(2, 4))
			d.state = d.state.Observe([]job.PodFact{d.end(1, phase)})
			plan := d.decide()
			equal(t, "counted", len(plan.Counted), 1)
			equal(t, "counted", plan.Counted[0].UID, "pod-1")
			status := *plan.Status // is written; then Temporal's data is lost, before the release
			rebuilt := job.Reconstruct(job.State{}.Of("default", "hello", "uid-1"), d.spec, status,
				job.List{Facts: d.pods, Attempts: 2, Counted: []string{"pod-1"}}, d.now)
			plan = job.Decide(rebuilt, d.spec, d.now)
			equal(t, "releases", releasedBy(plan), []string{"pod-1"})
			rebuilt = job.Apply(plan, job.Report{}, d.now)
			equal(t, "counters", [2]int32{rebuilt.Succeeded, rebuilt.Failed}, [2]int32{status.Succeeded, status.Failed})
		})
	}
	t.Run("not with the status that ends the Job", func(t *testing.T) {
		d := newDesk(t, specOf(1, 1))
		d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
		plan := d.decide()
		equal(t, "conditions", len(plan.Status.Conditions), 2)
		equal(t, "counted", len(plan.Counted), 1)
	})
}

// Any mixture of answers about single Pods comes to an end, with every Pod counted once.
func TestFailuresOfSinglePodsNeverFreezeTheJob(t *testing.T) {
	for seed := range 50 {
		d := newDesk(t, specOf(5, 5))
		for i := range d.pods {
			phase := corev1.PodSucceeded
			if (seed+i)%7 == 0 {
				phase = corev1.PodFailed
			}
			d.state = d.state.Observe([]job.PodFact{d.end(i+1, phase)})
		}
		finished := false
		for step := 0; step < 200 && !finished; step++ {
			plan := d.decide()
			switch {
			case plan.Finished != nil:
				finished = true
				continue
			case plan.List:
				d.listed()
				continue
			case plan.Idle():
				d.state, d.now = plan.Next, plan.Wake.At
				continue
			}
			var report job.Report
			for i, release := range plan.Releases {
				if (seed+step+i)%3 == 0 {
					report.Failures = append(report.Failures, job.PodFailure{UID: release.UID, Message: "no"})
				} else {
					d.release(release.UID)
				}
			}
			for i, create := range plan.Creates {
				fact := job.PodFact{Name: create.Name, UID: fmt.Sprintf("new-%d-%d", step, i), Attempt: create.Attempt, Phase: corev1.PodSucceeded, Tracked: true, Finished: d.now}
				d.pods = append(d.pods, fact)
				report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: fact.UID})
			}
			d.apply(plan, report)
			d.state = d.state.Observe(d.pods)
		}
		if !finished || d.state.Succeeded != 5 {
			t.Errorf("seed %d: finished %v, %d succeeded, %d failed, waiting for %q", seed, finished, d.state.Succeeded, d.state.Failed, d.decide().Waiting)
		}
	}
}

func (d *desk) release(uid string) {
	i := slices.IndexFunc(d.pods, func(pod job.PodFact) bool { return pod.UID == uid })
	d.pods[i].Tracked = false
	d.pods[i].Version++
}

func TestAPodWhoseRemovalFailedAndThatEndsIsCountedAndReleased(t *testing.T) {
	d := newDesk(t, specOf(1, 2))
	d.suspend()
	d.terminate(d.decide(), "pod-1")
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	plan := d.decide()
	equal(t, "succeeded", plan.Status.Succeeded, 1)
	equal(t, "releases", releasedBy(plan), []string{"pod-1"})
}

func TestWhatIsSaidOfAPodIsSaidOnce(t *testing.T) {
	spec := specOf(1, 1)
	spec.PendingDeadlineSeconds = 10
	d := newDesk(t, spec)
	pending := d.pods[0]
	pending.Phase, pending.Pending, pending.UID, pending.Name = corev1.PodPending, job.PendingImagePull, "pod-9", "other"
	pending.Attempt = 2
	d.pods = append(d.pods[:0], pending)
	d.listed()
	d.apply(d.decide(), job.Report{})
	d.now = d.now.Add(time.Minute)
	d.listed()
	plan, said := d.decide(), 0
	for range 3 {
		for _, event := range plan.Events {
			if event.Reason == job.PendingDeadlineExceeded {
				said++
			}
		}
		d.apply(plan, job.Report{Failures: []job.PodFailure{{UID: "pod-9", Message: "no"}, {UID: "pod-9", Message: "no"}}})
		d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
		d.now = d.now.Add(time.Hour)
		plan = d.decide()
		if plan.List {
			d.listed()
			plan = d.decide()
		}
	}
	equal(t, "said", said, 1)
}

// A Pod that a plan has removed ends by the signal that removed it, and the plan is forgotten.
func TestARemovedPodIsNotJudgedByThePodFailurePolicy(t *testing.T) {
	for _, removed := range []bool{true, false} {
		spec := specOf(1, 1)
		spec.PodReplacementPolicy = batchv1.Failed
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0}},
		}}}
		d := newDesk(t, spec)
		fact := d.end(1, corev1.PodFailed)
		fact.Removed, fact.Deleting, fact.Tracked = removed, removed, !removed
		fact.Exits = []job.Exit{{Container: "main", Code: 143}}
		d.pods[0] = fact
		d.state = d.state.Observe([]job.PodFact{fact})
		d.listed()
		plan := d.decide()
		if failing := plan.Terminate == job.TerminateForVerdict; failing == removed {
			t.Errorf("removed %v: failing %v, plan %+v", removed, failing, plan)
		}
	}
}
