package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// withFirstPods are made with the Job, by the activity that has started the run.
func (k *jobKube) withFirstPods(spec job.Spec) protocol.JobInput {
	made := k.create(job.First(hello.Namespace, hello.Name, hello.UID, spec, k.environment.Now()))
	return protocol.JobInput{Job: hello, Spec: spec, Pods: made}
}

// Pods that were made with the Job are the first plan's: they are not made again, and count.
func TestPodsThatWereMadeWithTheJobAreThoseOfTheFirstPlan(t *testing.T) {
	for name, test := range map[string]struct {
		pods int32
		// created is how many the workflow makes itself.
		created int
	}{
		"one":        {1, 0},
		"ten":        {10, 0},
		"and others": {15, 5},
	} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			input := kube.withFirstPods(jobSpec(test.pods, test.pods))
			made := len(kube.pods)
			kube.after(time.Minute, func() {
				for number := range kube.pods {
					kube.end(number+1, corev1.PodSucceeded)
				}
			})
			result, err := kube.runInput(input)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "outcome", result.Outcome, job.Complete)
			expect(t, "succeeded", result.Succeeded, test.pods)
			expect(t, "created by the workflow", len(kube.pods)-made, test.created)
			expect(t, "creates in the first request", len(kube.requests[0].Creates), test.created)
			expect(t, "active in the first status", kube.requests[0].Status.Active, test.pods)
		})
	}
}

// The Pod of a run may end before the workflow of its Job begins. The first status then says that the Job is Complete.
func TestAnEndThatIsToldBeforeTheFirstPlanIsInTheFirstStatus(t *testing.T) {
	kube := newJobKube(t)
	input := kube.withFirstPods(jobSpec(1, 1))
	kube.after(0, func() { kube.end(1, corev1.PodSucceeded) })
	if _, err := kube.runInput(input); err != nil {
		t.Fatal(err)
	}
	expect(t, "active in the first status", kube.requests[0].Status.Active, 0)
	expect(t, "succeeded in the first status", kube.requests[0].Status.Succeeded, 1)
	expectList(t, "calls", kube.calls, protocol.CarryOutActivity)
}

// The Job was suspended after its Pods were made, and before its workflow has planned.
func TestPodsThatWereMadeWithTheJobAndAreNotWantedAnyMore(t *testing.T) {
	kube := newJobKube(t)
	input := kube.withFirstPods(jobSpec(1, 1))
	kube.object = input.Spec
	kube.object.Suspend, kube.object.Generation = true, 2
	kube.after(time.Minute, func() {
		if pod := kube.pods[0]; !pod.Deleting || !pod.Removed {
			t.Errorf("the Pod is not deleted: %v", kube.calls)
		}
		kube.remove()
	})
	if _, err := kube.runInput(input); err != nil {
		t.Fatal(err)
	}
}

func TestAnInputWithPodsThatNobodyMakesWithAJobIsRefused(t *testing.T) {
	for name, pods := range map[string][]job.CreatedPod{
		"eleven":    slices.Repeat([]job.CreatedPod{{Name: "hello-1", UID: "pod-1"}}, 11),
		"no name":   {{UID: "pod-1"}},
		"a long ID": {{Name: "hello-1", UID: strings.Repeat("x", 1<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newJobKube(t).runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1), Pods: pods}); err == nil {
				t.Error("it is taken")
			}
		})
	}
}

// The bridge has started the workflow, since the process is lost that has made the Pods: they are found by one list.
func TestPodsThatTheStarterOfTheWorkflowDoesNotKnow(t *testing.T) {
	for name, test := range map[string]struct {
		phase corev1.PodPhase
		// told says that the workflow was signalled before it began.
		told bool
	}{
		"one runs, and ends later":            {corev1.PodRunning, false},
		"one has ended":                       {corev1.PodSucceeded, false},
		"one has ended, and the signal waits": {corev1.PodSucceeded, true},
		"one runs, and a signal of it waits":  {corev1.PodRunning, true},
	} {
		t.Run(name, func(t *testing.T) {
			kube := newJobKube(t)
			spec := jobSpec(1, 1)
			kube.create(job.First(hello.Namespace, hello.Name, hello.UID, spec, kube.environment.Now()))
			kube.pods[0].Phase = test.phase
			if test.told {
				fact := kube.pods[0]
				kube.after(0, func() { kube.signalFacts(fact) })
			}
			if test.phase == corev1.PodRunning {
				kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
			}
			result, err := kube.runInput(protocol.JobInput{Job: hello, Spec: spec, List: true})
			if err != nil || result.Outcome != job.Complete {
				t.Errorf("%s, %v", result.Outcome, err)
			}
			expect(t, "Pods", len(kube.pods), 1)
			expect(t, "lists", kube.lists(), 1)
		})
	}
}

// The Job was suspended between the create of its first Pod and the start of its workflow.
func TestAPodOfAJobThatWasSuspendedBeforeItsWorkflowBeganIsRemoved(t *testing.T) {
	kube := newJobKube(t)
	spec := jobSpec(1, 1)
	kube.create(job.First(hello.Namespace, hello.Name, hello.UID, spec, kube.environment.Now()))
	spec.Suspend, spec.Generation = true, 2
	kube.after(time.Minute, func() {
		if pod := kube.pods[0]; !pod.Deleting || !pod.Removed {
			t.Errorf("the Pod runs on: %v", kube.calls)
		}
		kube.remove()
	})
	if _, err := kube.runInput(protocol.JobInput{Job: hello, Spec: spec, List: true}); err != nil {
		t.Fatal(err)
	}
}

// A fact of a Pod that the first plan does not ask for has the Pods listed all the same.
func TestAPodThatTheFirstPlanDoesNotAskForIsListed(t *testing.T) {
	kube := newJobKube(t)
	kube.after(0, func() {
		kube.signalFacts(job.PodFact{Name: "adopted", UID: "adopted", Phase: corev1.PodRunning, Tracked: true})
	})
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	kube.mustEnd(jobSpec(1, 1), job.Complete)
	if !slices.Contains(kube.calls, protocol.ListPodsActivity) {
		t.Errorf("the Pods were not listed: %v", kube.calls)
	}
}

// Somebody who may write to Temporal sends facts of Pods that there are not, before the workflow's first plan. None
// is kept, and the Pods are listed once.
func TestManyFactsBeforeTheFirstPlan(t *testing.T) {
	kube := newJobKube(t)
	var madeUp []job.PodFact
	for n := range protocol.MaxFactsPerSignal {
		madeUp = append(madeUp, job.PodFact{Name: fmt.Sprintf("made-up-%d", n), UID: fmt.Sprintf("made-up-%d", n), Phase: corev1.PodSucceeded, Tracked: true})
	}
	kube.after(0, func() {
		for range 100 {
			kube.signalFacts(madeUp...)
		}
	})
	kube.after(time.Minute, func() { kube.end(1, corev1.PodSucceeded) })
	result := kube.mustEnd(jobSpec(1, 1), job.Complete)
	expect(t, "succeeded", result.Succeeded, 1)
	expect(t, "Pods", len(kube.pods), 1)
	expect(t, "lists", kube.lists(), 1)
}

// lists is how many lists were taken.
func (k *jobKube) lists() (lists int) {
	for _, call := range k.calls {
		if call == protocol.ListPodsActivity {
			lists++
		}
	}
	return lists
}

func TestFactsBeforeTheFirstPlanAreCarriedOver(t *testing.T) {
	kube := newJobKube(t)
	kube.environment.SetContinueAsNewSuggested(true)
	kube.after(0, func() {
		kube.signalFacts(job.PodFact{Name: "adopted", UID: "adopted", Phase: corev1.PodRunning, Tracked: true})
	})
	_, err := kube.runInput(protocol.JobInput{Job: hello, Spec: jobSpec(1, 1)})
	var input protocol.JobInput
	kube.continued(err, &input)
	expect(t, "the Pods are to be listed", input.State.Doubt, true)
}
