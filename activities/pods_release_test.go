package activities_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// TestReleaseIsOneRequest: it is made for every Pod of every Job.
func TestReleaseIsOneRequest(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded)), nil)
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
		Job: jobRef, Releases: []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}},
	})
	var requests []string
	for _, action := range s.kubernetes.Actions() {
		requests = append(requests, action.GetVerb()+" "+action.GetResource().Resource)
	}
	if !slices.Equal(requests, []string{"get jobs", "patch pods"}) {
		t.Errorf("requests %v", requests)
	}
	if s.tracked("a") || s.seen("a") || len(result.Unexpected)+len(result.Vanished)+len(result.Failures) != 0 {
		t.Errorf("tracked %v, seen %v, result %+v", s.tracked("a"), s.seen("a"), result)
	}
}

// TestAReleaseTellsThatItRemovedThePod: where no PodWatch runs just then, nobody else does.
func TestAReleaseTellsThatItRemovedThePod(t *testing.T) {
	for name, test := range map[string]struct {
		grace      int64
		finalizers []string
		vanished   bool
	}{
		"nothing else holds it":      {0, nil, true},
		"a finalizer holds it":       {0, []string{"example.com/archive"}, false},
		"a kubelet has to delete it": {30, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := helloPod("a", corev1.PodPending).Finalized(slices.Concat([]string{names.TrackingFinalizer}, test.finalizers)...)
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.Now()), &test.grace
			s := newStage(t, objects(helloJob(), pod), nil)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
				Job: jobRef, Releases: []job.Release{{Name: "a", UID: "a-uid"}},
			})
			if gone := slices.Equal(result.Vanished, []string{"a-uid"}); gone != test.vanished {
				t.Errorf("vanished %v", result.Vanished)
			}
		})
	}
}

func TestReleases(t *testing.T) {
	replicaSet := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web-uid", Controller: ptr.To(true)}
	secret := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "other", UID: "secret-uid"}
	tests := map[string]struct {
		pod podBuilder
		// phase is what the release rests on.
		phase            corev1.PodPhase
		released         bool
		found, disowned  bool
		vanished, unseen bool
	}{
		"ended as believed":             {pod: helloPod("a", corev1.PodFailed), phase: corev1.PodFailed, released: true, unseen: true},
		"can run, and is let go":        {pod: helloPod("a", corev1.PodRunning), released: true},
		"runs, where its end is told":   {pod: helloPod("a", corev1.PodRunning), phase: corev1.PodSucceeded, released: true},
		"failed, where success is told": {pod: helloPod("a", corev1.PodFailed), phase: corev1.PodSucceeded, released: true, unseen: true},
		"other finalizers come first":   {pod: helloPod("a", corev1.PodFailed).Finalized("example.com/archive", names.TrackingFinalizer), phase: corev1.PodFailed, released: true, unseen: true},
		"the controller comes second":   {pod: helloPod("a", corev1.PodFailed).Of(helloJob()).After(secret), phase: corev1.PodFailed, released: true, unseen: true},
		"was released before":           {pod: helloPod("a", corev1.PodFailed).Finalized("example.com/archive").Unseen(), phase: corev1.PodFailed, released: true, unseen: true},
		"was let go while it ran":       {pod: helloPod("a", corev1.PodFailed).Finalized("example.com/archive"), phase: corev1.PodFailed, released: true, unseen: true},
		"does not match any more":       {pod: helloPod("a", corev1.PodFailed).Stranger(), phase: corev1.PodFailed, released: true, unseen: true},
		"another controller's":          {pod: helloPod("a", corev1.PodFailed).By(replicaSet), phase: corev1.PodFailed, found: true, disowned: true},
		"another controller's, in run":  {pod: helloPod("a", corev1.PodRunning).By(replicaSet), found: true, disowned: true},
		"another Job's":                 {pod: helloPod("a", corev1.PodFailed).Of(otherJob()), phase: corev1.PodFailed, found: true, disowned: true},
		"nobody's":                      {pod: helloPod("a", corev1.PodFailed).Uncontrolled(), phase: corev1.PodFailed, found: true, disowned: true},
		"of another namespace":          {pod: helloPod("a", corev1.PodFailed).In("other"), phase: corev1.PodFailed, vanished: true},
		"re-created":                    {pod: helloPod("a", corev1.PodFailed).Identified("new-uid"), phase: corev1.PodFailed, vanished: true},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			test.pod.Status.Message, test.pod.Spec.NodeName = "what it said", "node-1"
			before := test.pod.DeepCopy()
			s := newStage(t, objects(helloJob(), test.pod), nil)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
				Job: jobRef, Releases: []job.Release{{Name: "a", UID: "a-uid", Phase: test.phase}},
			})
			stored, err := s.kubernetes.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), before.Namespace, "a")
			if err != nil {
				t.Fatal(err)
			}
			after := stored.(*corev1.Pod)
			if kept := slices.Contains(after.Finalizers, names.TrackingFinalizer); kept == test.released {
				t.Errorf("finalizers %v", after.Finalizers)
			}
			if !slices.Contains(after.Finalizers, "example.com/archive") {
				t.Errorf("finalizers %v, without the other one", after.Finalizers)
			}
			if _, seen := after.Labels[names.WatchBucketLabel]; seen == test.unseen {
				t.Errorf("labels %v", after.Labels)
			}
			if gone := slices.Equal(result.Vanished, []string{"a-uid"}); gone != test.vanished {
				t.Errorf("vanished %v", result.Vanished)
			}
			if (len(result.Unexpected) == 1) != test.found || len(result.Failures) != 0 {
				t.Fatalf("found %+v, failures %+v", result.Unexpected, result.Failures)
			}
			if !test.found {
				return
			}
			switch fact := result.Unexpected[0]; {
			case fact.UID != "a-uid" || fact.Disowned != test.disowned:
				t.Errorf("found %+v", fact)
			case test.disowned && (fact.Phase != "" || fact.Message != "" || fact.Node != ""):
				t.Errorf("found %+v, which describes a Pod that is not the Job's", fact)
			case !test.disowned && fact.Phase != before.Status.Phase:
				t.Errorf("found %+v, want the phase %s", fact, before.Status.Phase)
			}
		})
	}
}

func TestOnePodThatCantBeReleasedHoldsUpNoOther(t *testing.T) {
	for name, refused := range map[string]error{
		"forbidden":      apierrors.NewForbidden(pods, "bad", errors.New("a policy")),
		"invalid":        apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "bad", nil),
		"a dead webhook": apierrors.NewInternalError(errors.New("failed calling webhook")),
		"in conflict":    apierrors.NewConflict(pods, "bad", errors.New("modified")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("bad", corev1.PodSucceeded), helloPod("a", corev1.PodSucceeded)), nil)
			s.refusePod("patch", "bad", refused)
			releases := []job.Release{{Name: "bad", UID: "bad-uid", Phase: corev1.PodSucceeded}, {Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}}
			for activity, request := range map[string]any{
				"alone":         protocol.JobRequest{Job: jobRef, Releases: releases},
				"with a status": protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Succeeded: 2}, Releases: releases},
			} {
				result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
				if len(result.Failures) != 1 || result.Failures[0].UID != "bad-uid" || !strings.Contains(refused.Error(), result.Failures[0].Message) {
					t.Errorf("%s: failures %+v", activity, result.Failures)
				}
				if s.tracked("a") || !s.tracked("bad") {
					t.Errorf("%s: tracked %v and %v", activity, s.tracked("a"), s.tracked("bad"))
				}
			}
		})
	}
}
