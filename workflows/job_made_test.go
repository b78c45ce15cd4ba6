package workflows_test

import (
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
