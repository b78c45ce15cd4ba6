package job_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// The suspension is lifted while Pods are being removed: what was removed is not counted, and
// what was not goes on.
func TestASuspensionThatIsLiftedHalfWay(t *testing.T) {
	d := newDesk(t, specOf(3, 3))
	d.suspend()
	plan := d.decide()
	d.state = plan.Asked()
	d.pods[0].Removed, d.pods[0].Tracked, d.pods[0].Deleting = true, false, true
	d.pods[0].Version++
	d.pods = d.pods[:2] // The third was removed, and has ended.
	d.resume()
	equal(t, "list", d.decide().List, true)
	d.listed()
	plan = d.decide()
	equal(t, "creates", len(plan.Creates), 2)
	equal(t, "deletes", deleted(plan), nil)
	equal(t, "failed", plan.Status.Failed, 0)
	equal(t, "active", plan.Status.Active, 3)
}

// The verdict is recorded before the first Pod is deleted for it.
func TestAVerdictIsNotTakenBack(t *testing.T) {
	spec := specOf(3, 3)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	plan := d.decide()
	d.state = plan.Asked()
	d.edit(func(spec *job.Spec) { spec.BackoffLimit = 6 })
	d.pods[1].Deleting = true
	d.pods[1].Version++
	equal(t, "list", d.decide().List, true)
	d.listed()
	d.terminate(d.decide())
	plan = d.decide()
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/BackoffLimitExceeded"})
	equal(t, "failed", plan.Status.Failed, 3)
}

// A Job whose successPolicy is met is Complete, whatever its other Pods come to when they are
// deleted, and whenever that is heard.
func TestPodsThatASuccessEndsAreNotCounted(t *testing.T) {
	spec := specOf(3, 3)
	spec.CompletionMode, spec.HasSuccessPolicy, spec.BackoffLimit = batchv1.IndexedCompletion, true, 0
	for name, hear := range map[string]func(*desk, job.Plan){
		"by the answer": func(d *desk, plan job.Plan) { d.terminate(plan) },
		"by facts, without an answer": func(d *desk, plan job.Plan) {
			d.state = plan.Asked()
			d.pods[1].Deleting, d.pods[1].Phase = true, corev1.PodFailed
			d.pods[1].Version++
			gone := d.pods[2]
			gone.Gone, gone.Tracked, gone.Deleting = true, false, true
			gone.Version++
			d.pods = d.pods[:2]
			d.state = d.state.Observe(append(slices.Clone(d.pods), gone))
			equal(t, "list", d.decide().List, true)
			d.listed()
			d.terminate(d.decide())
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, spec)
			d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
			d.state = d.decide().Matched(0)
			hear(d, d.decide())
			plan := d.decide()
			equal(t, "first condition", conditionsOf(*plan.Status)[0], "SuccessCriteriaMet/SuccessPolicy")
			equal(t, "counters", [2]int32{plan.Status.Succeeded, plan.Status.Failed}, [2]int32{1, 0})
		})
	}
}

// A Pod that is being drained still runs when the Job fails (parity 2.11, 2.14).
func TestAPodThatThePolicyIgnoresIsNotCountedAtAFailure(t *testing.T) {
	for ignored, condition := range map[bool]string{true: "DisruptionTarget=True", false: "DisruptionTarget=False"} {
		spec := specOf(2, 2)
		spec.BackoffLimit, spec.PodReplacementPolicy = 0, batchv1.Failed
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}}}
		d := newDesk(t, spec)
		d.pods[1].Deleting, d.pods[1].Conditions = true, []string{condition}
		d.pods[1].Version++
		d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed), d.pods[1]})
		d.terminate(d.decide())
		want := int32(2)
		if ignored {
			want = 1
		}
		equal(t, "failed with "+condition, d.decide().Status.Failed, want)
	}
}

// Whatever a Pod comes to that a failure has deleted, and whenever that is heard.
func TestAPodThatAFailureEndsCountsAsFailed(t *testing.T) {
	spec := specOf(2, 2)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodFailed)})
	plan := d.decide()
	d.pods[1].Deleting = true
	d.end(2, corev1.PodSucceeded) // before the attempt that answers
	d.terminate(plan)
	plan = d.decide()
	equal(t, "counters", [2]int32{plan.Status.Succeeded, plan.Status.Failed}, [2]int32{0, 2})
	equal(t, "releases", releasedBy(plan), []string{"pod-1", "pod-2"})
}

// The finalizer is gone, and the delete was refused: the Pod is deleted when that passes, whatever the Job wants by then.
func TestAPodThatIsReleasedAndNotDeletedIsDeletedLater(t *testing.T) {
	refused := []job.PodFailure{{UID: "pod-2", Message: "denied by policy", Released: true}}
	for name, remove := range map[string]func(*desk){
		"by a suspension that is lifted": func(d *desk) {
			d.suspend()
			plan := d.decide()
			d.pods[1].Tracked, d.pods[1].Removed = false, true
			d.pods[1].Version++
			d.state = plan.Terminated(job.List{Facts: d.pods[1:], Attempts: 2, Failures: refused}, d.now, d.now)
			d.resume()
		},
		"by a lower parallelism that is raised again": func(d *desk) {
			d.edit(func(spec *job.Spec) { spec.Parallelism = 1 })
			d.listed()
			d.apply(d.decide(), job.Report{Failures: refused})
			d.edit(func(spec *job.Spec) { spec.Parallelism = 2 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, specOf(2, 2))
			remove(d)
			d.now = d.now.Add(time.Minute)
			plan := d.decide()
			equal(t, "deletes", deleted(plan), []string{"pod-2"})
			d.apply(plan, job.Report{})
			d.end(2, corev1.PodSucceeded)
			d.state = d.state.Observe(d.pods)
			equal(t, "succeeded", d.decide().Next.Succeeded, 0)
		})
	}
}

// TestRemovedPodsAreNamedByTheirPlaces: what follows is as if each had its fact.
func TestRemovedPodsAreNamedByTheirPlaces(t *testing.T) {
	d := newDesk(t, specOf(4, 4))
	d.end(4, corev1.PodSucceeded)
	d.suspend()
	plan := d.decide()
	for i := range 2 {
		d.pods[i].Deleting, d.pods[i].Removed, d.pods[i].Tracked = true, true, false
	}
	list := job.List{Facts: d.pods, Attempts: 4}
	short := list.Short(plan.Asked().Undecided())
	equal(t, "places", short.Removed.String(), "0,1")
	equal(t, "facts", len(short.Facts), 2)
	equal(t, "facts of the list that was shortened", len(list.Facts), 4)
	whole := plan.Terminated(list, d.now, d.now)
	d.state = plan.Terminated(short, d.now, d.now)
	for _, want := range []struct{ from, got any }{{whole.Status(), d.state.Status()}, {whole.Undecided(), d.state.Undecided()}} {
		equal(t, "the state", want.got, want.from)
	}
	left := []job.PodName{{Name: d.pods[2].Name, UID: "pod-3"}, {Name: d.pods[3].Name, UID: "pod-4"}}
	equal(t, "undecided", d.state.Undecided(), left)
	short.Removed = short.Removed.With(9999)
	equal(t, "with a place that nobody has", plan.Terminated(short, d.now, d.now).Undecided(), left)
}
