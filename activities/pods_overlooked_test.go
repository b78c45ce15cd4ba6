package activities_test

import (
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// TestAnIndexWhosePodThePlanOverlooksGetsNoOther: a plan that was forgotten has made it, and
// nobody has told of its end yet.
func TestAnIndexWhosePodThePlanOverlooksGetsNoOther(t *testing.T) {
	ended := func(index int, phase corev1.PodPhase) podBuilder {
		return helloPod("forgotten", phase).Annotated(batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index))
	}
	wanted, after := indexedCreate(2, 5), indexedCreate(2, 5)
	after.After = []string{"forgotten-uid"}
	for name, test := range map[string]struct {
		create  job.Create
		pod     podBuilder
		refused bool
	}{
		"it succeeded":               {wanted, ended(2, corev1.PodSucceeded), true},
		"it failed":                  {wanted, ended(2, corev1.PodFailed), true},
		"the plan knows of it":       {after, ended(2, corev1.PodFailed), false},
		"it is of another index":     {wanted, ended(3, corev1.PodSucceeded), false},
		"it is released":             {wanted, ended(2, corev1.PodFailed).Released(), false},
		"it is released and unseen":  {wanted, ended(2, corev1.PodFailed).Released().Unseen(), false},
		"it is another's":            {wanted, ended(2, corev1.PodSucceeded).Of(otherJob()), false},
		"it is nobody's":             {wanted, ended(2, corev1.PodSucceeded).Uncontrolled(), false},
		"it is not the Job's at all": {wanted, ended(2, corev1.PodSucceeded).Stranger(), false},
	} {
		t.Run(name, func(t *testing.T) {
			for activity, request := range map[string]any{
				protocol.CarryOutActivity:   protocol.JobRequest{Job: jobRef, Creates: []job.Create{test.create}},
				protocol.CreatePodsActivity: protocol.CreatePodsRequest{Job: jobRef, Creates: []job.Create{test.create}},
			} {
				s := newStage(t, objects(indexedJob(4), test.pod), nil)
				result := must[protocol.JobResult](s, activity, request)
				if !test.refused {
					if len(result.Created) != 1 || result.Refused != nil {
						t.Errorf("%s: result %+v", activity, result)
					}
					continue
				}
				if result.Refused == nil || result.Refused.Reason != protocol.RefusedNotPrescribed || result.CurrentSpec == nil || len(s.writes()) != 0 {
					t.Errorf("%s: result %+v, writes %v", activity, result, s.writes())
				}
			}
		})
	}
}

// The watch cache still has a Pod as it was before its release.
func TestAnIndexWhosePodWasJustReleasedGetsItsNext(t *testing.T) {
	released := helloPod("released", corev1.PodFailed).Annotated(batchv1.JobCompletionIndexAnnotation, "2")
	stale := *released.DeepCopy()
	s := newStage(t, objects(indexedJob(4), released.Released().Unseen()), nil)
	s.kubernetes.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.(clienttesting.ListActionImpl).ListOptions.ResourceVersion != "0" {
			return false, nil, nil
		}
		return true, &corev1.PodList{Items: []corev1.Pod{stale}}, nil
	})
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: []job.Create{indexedCreate(2, 5)}})
	if len(result.Created) != 1 || result.Refused != nil {
		t.Errorf("result %+v", result)
	}
}
