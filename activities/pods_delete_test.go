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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// deletes deletes Pods on a stage of its own.
func deletes(t *testing.T, prepare func() *stage, targets []job.Delete, check func(t *testing.T, s *stage, result protocol.JobResult, err error)) {
	t.Helper()
	s := prepare()
	result, err := run[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Deletes: targets})
	check(t, s, result, err)
}

// refusePod makes the fake API server answer a request about one Pod with an error.
func (s *stage) refusePod(verb, name string, err error) {
	s.kubernetes.PrependReactor(verb, "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		named, ok := action.(interface{ GetName() string })
		return ok && named.GetName() == name, nil, err
	})
}

func (s *stage) exists(name string) bool {
	_, err := s.kubernetes.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), namespace, name)
	return err == nil
}

func TestDeletesOfPods(t *testing.T) {
	prepare := func() *stage {
		return newStage(t, objects(helloJob(), helloPod("kept", corev1.PodRunning), helloPod("untracked", corev1.PodRunning)), nil)
	}
	targets := []job.Delete{
		{Name: "kept", UID: "kept-uid"}, {Name: "untracked", UID: "untracked-uid", Release: true}, {Name: "gone", UID: "gone-uid"},
	}
	deletes(t, prepare, targets, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
		if err != nil || !slices.Equal(result.Vanished, []string{"gone-uid"}) {
			t.Errorf("result %+v, error %v", result, err)
		}
		writes := s.writes()
		slices.Sort(writes)
		if want := []string{"delete pods kept", "delete pods untracked", "patch pods untracked"}; !slices.Equal(writes, want) {
			t.Errorf("writes %v, want %v", writes, want)
		}
		events := s.recorded()
		slices.Sort(events)
		if !slices.Equal(events, []string{"Normal SuccessfulDelete Deleted pod: kept", "Normal SuccessfulDelete Deleted pod: untracked"}) {
			t.Errorf("events %v", events)
		}
		for _, action := range s.kubernetes.Actions() {
			switch action := action.(type) {
			case clienttesting.DeleteActionImpl:
				if conditions := action.DeleteOptions.Preconditions; conditions == nil || string(*conditions.UID) != action.Name+"-uid" {
					t.Errorf("delete of %s without its UID", action.Name)
				}
			case clienttesting.PatchActionImpl:
				// What was not counted must be told from what was.
				if patch := string(action.Patch); !strings.Contains(patch, names.RemovedAnnotation) || !strings.Contains(patch, `"uid":"untracked-uid"`) {
					t.Errorf("patch %s", patch)
				}
			}
		}
	})
}

// TestAPodThatIsGoingIsNotDeletedAgain: an attempt that had no answer in time is repeated.
func TestAPodThatIsGoingIsNotDeletedAgain(t *testing.T) {
	for name, release := range map[string]bool{"kept tracked": false, "released": true} {
		t.Run(name, func(t *testing.T) {
			going := helloPod("going", corev1.PodRunning)
			going.DeletionTimestamp, going.DeletionGracePeriodSeconds = ptr.To(metav1.Now()), ptr.To(int64(30))
			prepare := func() *stage { return newStage(t, objects(helloJob(), going), nil) }
			targets := []job.Delete{{Name: "going", UID: "going-uid", Release: release}}
			deletes(t, prepare, targets, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
				writes := slices.DeleteFunc(s.writes(), func(write string) bool { return release && write == "patch pods going" })
				if err != nil || len(writes) != 0 || len(s.recorded()) != 0 || len(result.Vanished)+len(result.Unexpected)+len(result.Failures) != 0 {
					t.Errorf("writes %v, events %v, result %+v, error %v", writes, s.recorded(), result, err)
				}
			})
		})
	}
}

// TestPodsThatAreNotToBeDeleted: what a delete says of a Pod may be made up or old.
func TestPodsThatAreNotToBeDeleted(t *testing.T) {
	replicaSet := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web-uid", Controller: ptr.To(true)}
	tests := map[string]struct {
		pod      podBuilder
		release  bool
		vanished bool
		disowned bool
	}{
		"another controller's":                     {pod: helloPod("a", corev1.PodRunning).By(replicaSet), disowned: true},
		"another Job's":                            {pod: helloPod("a", corev1.PodRunning).Of(otherJob()), disowned: true},
		"nobody's":                                 {pod: helloPod("a", corev1.PodRunning).Uncontrolled(), disowned: true},
		"another controller's, to be released":     {pod: helloPod("a", corev1.PodRunning).By(replicaSet), release: true, disowned: true},
		"ended, where it is believed to run":       {pod: helloPod("a", corev1.PodSucceeded), release: true},
		"ended and failed, believed to run":        {pod: helloPod("a", corev1.PodFailed), release: true},
		"re-created, and thus has another UID":     {pod: helloPod("a", corev1.PodRunning).Identified("new-uid"), vanished: true},
		"re-created, and thus not to be released":  {pod: helloPod("a", corev1.PodRunning).Identified("new-uid"), release: true, vanished: true},
		"of another namespace, by the name it has": {pod: helloPod("a", corev1.PodRunning).In("other"), vanished: true},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			test.pod.Status.Message, test.pod.Spec.NodeName = "a secret", "secret-node"
			prepare := func() *stage { return newStage(t, objects(helloJob(), test.pod), nil) }
			targets := []job.Delete{{Name: "a", UID: "a-uid", Release: test.release}}
			deletes(t, prepare, targets, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
				if err != nil || len(s.writes()) != 0 || len(s.recorded()) != 0 {
					t.Fatalf("writes %v, error %v", s.writes(), err)
				}
				if gone := slices.Equal(result.Vanished, []string{"a-uid"}); gone != test.vanished {
					t.Errorf("vanished %v", result.Vanished)
				}
				if test.vanished {
					return
				}
				if len(result.Unexpected) != 1 || result.Unexpected[0].UID != "a-uid" || result.Unexpected[0].Disowned != test.disowned {
					t.Fatalf("found %+v", result.Unexpected)
				}
				if fact := result.Unexpected[0]; test.disowned && (fact.Message != "" || fact.Node != "" || fact.Phase != "") {
					t.Errorf("found %+v, which describes a Pod that is not the Job's", fact)
				}
			})
		})
	}
}

// TestAPodThatTheSelectorMissesCanBeDeleted: it is the Job's until it is disowned.
func TestAPodThatTheSelectorMissesCanBeDeleted(t *testing.T) {
	prepare := func() *stage {
		return newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning).Stranger()), nil)
	}
	deletes(t, prepare, []job.Delete{{Name: "a", UID: "a-uid"}}, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
		if err != nil || s.exists("a") || len(result.Unexpected) != 0 {
			t.Errorf("result %+v, error %v", result, err)
		}
	})
}

func TestPodThatChangesWhileItIsReleasedIsReadAnew(t *testing.T) {
	t.Run("and is deleted when it still runs", func(t *testing.T) {
		prepare := func() *stage {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.refuse("patch", "pods", 2, apierrors.NewConflict(pods, "a", errors.New("modified")))
			return s
		}
		deletes(t, prepare, []job.Delete{{Name: "a", UID: "a-uid", Release: true}}, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
			if err != nil || s.exists("a") || len(result.Failures) != 0 {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
	})
	t.Run("and is left when it has ended meanwhile", func(t *testing.T) {
		prepare := func() *stage {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.kubernetes.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if err := s.kubernetes.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), helloPod("a", corev1.PodSucceeded).Pod, namespace); err != nil {
					t.Error(err)
				}
				return true, nil, apierrors.NewConflict(pods, "a", errors.New("modified"))
			})
			return s
		}
		deletes(t, prepare, []job.Delete{{Name: "a", UID: "a-uid", Release: true}}, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
			if err != nil || !s.exists("a") || len(result.Unexpected) != 1 || result.Unexpected[0].Phase != corev1.PodSucceeded {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
	})
	t.Run("but not for ever", func(t *testing.T) {
		prepare := func() *stage {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.refuse("patch", "pods", -1, apierrors.NewConflict(pods, "a", errors.New("modified")))
			return s
		}
		deletes(t, prepare, []job.Delete{{Name: "a", UID: "a-uid", Release: true}}, func(t *testing.T, s *stage, result protocol.JobResult, err error) {
			if err != nil || len(result.Failures) != 1 {
				t.Errorf("result %+v, error %v", result, err)
			}
		})
	})
}

// TestOnePodThatCantBeDeletedHoldsUpNoOther, and neither the status nor what follows.
func TestOnePodThatCantBeDeletedHoldsUpNoOther(t *testing.T) {
	for name, refused := range map[string]error{
		"forbidden":      apierrors.NewForbidden(pods, "bad", errors.New("a policy")),
		"invalid":        apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "bad", nil),
		"a dead webhook": apierrors.NewInternalError(errors.New("failed calling webhook")),
	} {
		for _, verb := range []string{"delete", "patch", "get"} {
			t.Run(name+", "+verb, func(t *testing.T) {
				s := newStage(t, objects(helloJob(), helloPod("bad", corev1.PodRunning), helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodSucceeded)), nil)
				s.refusePod(verb, "bad", refused)
				result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
					Job:     jobRef,
					Deletes: []job.Delete{{Name: "bad", UID: "bad-uid", Release: true}, {Name: "a", UID: "a-uid", Release: true}},
					Status:  &batchv1.JobStatus{Succeeded: 1}, Releases: []job.Release{{Name: "b", UID: "b-uid", Phase: corev1.PodSucceeded}},
				})
				if len(result.Failures) != 1 || result.Failures[0].UID != "bad-uid" || !strings.Contains(refused.Error(), result.Failures[0].Message) {
					t.Errorf("failures %+v", result.Failures)
				}
				if s.exists("a") || s.tracked("b") || s.job(jobName).Status.Succeeded != 1 {
					t.Error("the rest is not done")
				}
				events := slices.DeleteFunc(s.recorded(), func(event string) bool { return !strings.HasPrefix(event, "Warning FailedDelete Error deleting: ") })
				if want := 1; verb != "get" && len(events) != want {
					t.Errorf("events %q", events)
				}
			})
		}
	}
}

func TestDeletesReportAnOutage(t *testing.T) {
	for _, verb := range []string{"get", "patch", "delete"} {
		t.Run(verb, func(t *testing.T) {
			prepare := func() *stage {
				s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
				s.refusePod(verb, "a", errors.New("connection refused"))
				return s
			}
			deletes(t, prepare, []job.Delete{{Name: "a", UID: "a-uid", Release: true}}, func(t *testing.T, s *stage, _ protocol.JobResult, err error) {
				if err == nil || !strings.Contains(err.Error(), "Pod default/a: connection refused") || !s.exists("a") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
