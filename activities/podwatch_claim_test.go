package activities_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// told describes what workflows were told, in short and in order.
func (s *stage) told() []string {
	var facts []string
	for _, signal := range s.signals.all() {
		for _, fact := range signal.facts.Facts {
			text := fact.Name
			switch {
			case fact.Disowned:
				text += " disowned"
			case fact.Gone:
				text += " gone"
			case fact.Ended():
				text += " ended"
			}
			facts = append(facts, text)
		}
	}
	return facts
}

func (s *stage) eventuallyTold(want ...string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the workflow is told %q", want), func() bool { return slices.Equal(s.told(), want) })
}

// quiet checks that the watch has nothing more to say: another Pod's end, which
// comes after what was there before, is all that is told.
func (s *stage) quiet(want ...string) {
	s.t.Helper()
	s.createPod(helloPod("zz-last", corev1.PodFailed))
	s.eventuallyTold(append(want, "zz-last ended")...)
}

func (s *stage) controlled(name string, owner *batchv1.Job) bool {
	return metav1.IsControlledBy(s.pod(name), owner)
}

func deletingJob(owner *batchv1.Job) *batchv1.Job {
	now := metav1.NewTime(scheduled)
	owner.DeletionTimestamp, owner.Finalizers = &now, []string{"orphan"}
	return owner
}

func TestPodThatLostTheWatchsLabelGetsItBack(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).unseen().Pod)
	eventually(t, "the Pod is seen again", func() bool { return s.seen("a") })
	s.updatePod(helloPod("a", corev1.PodFailed).Pod)
	s.eventuallyTold("a ended")
}

func TestPodWhoseLabelsNoLongerMatchIsLetGo(t *testing.T) {
	tests := map[string]podBuilder{
		"no labels":                helloPod("a", corev1.PodRunning).stranger().unseen(),
		"other labels, still seen": helloPod("a", corev1.PodRunning).stranger(),
	}
	for name, changed := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.watch()
			s.updatePod(changed.Pod)
			s.eventuallyTold("a disowned")
			if s.controlled("a", helloJob()) || s.tracked("a") {
				t.Errorf("owners %v, finalizers %v, labels %v", s.pod("a").OwnerReferences, s.pod("a").Finalizers, s.pod("a").Labels)
			}
			s.quiet("a disowned")
		})
	}
}

func TestPodWhoseLabelsMatchAgainIsTakenBack(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodRunning)), nil)
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).stranger().Pod)
	eventually(t, "the Pod is let go", func() bool { return !s.controlled("a", helloJob()) })
	s.eventuallyTold("a disowned")
	back := s.pod("a")
	back.Labels[batchv1.ControllerUidLabel] = jobUID
	s.updatePod(back)
	s.eventuallyTold("a disowned", "a")
	if !s.controlled("a", helloJob()) || !s.tracked("a") {
		t.Errorf("owners %v, finalizers %v", s.pod("a").OwnerReferences, s.pod("a").Finalizers)
	}
}

// TestPodThatTheWorkflowMayNotKnowIsIntroduced: a copy of a Pod that someone made,
// with and without its controller.
func TestPodThatTheWorkflowMayNotKnowIsIntroduced(t *testing.T) {
	for name, copied := range map[string]podBuilder{
		"with its controller": helloPod("copy", corev1.PodRunning),
		"without":             helloPod("copy", corev1.PodRunning).uncontrolled().released().labelled(batchv1.JobNameLabel, jobName),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
			s.watch()
			copied.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: "kubectl-create", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:restartPolicy":{}}}`),
			}}
			s.createPod(copied)
			s.eventuallyTold("copy")
			if !s.controlled("copy", helloJob()) || !s.tracked("copy") {
				t.Errorf("owners %v, finalizers %v", s.pod("copy").OwnerReferences, s.pod("copy").Finalizers)
			}
			s.quiet("copy")
		})
	}
}

func TestPodWhoseLabelsNoLongerMatchStaysWithAJobThatIsBeingDeleted(t *testing.T) {
	s := newStage(t, objects(deletingJob(helloJob()), helloPod("a", corev1.PodRunning)), nil)
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).stranger().Pod)
	s.eventuallyTold("a disowned")
	if !s.controlled("a", helloJob()) || s.tracked("a") {
		t.Errorf("owners %v, finalizers %v", s.pod("a").OwnerReferences, s.pod("a").Finalizers)
	}
}

func TestPodThatLostItsControllerIsAdoptedAgain(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).uncontrolled().released().Pod)
	eventually(t, "the Pod is adopted", func() bool { return s.controlled("a", helloJob()) && s.tracked("a") })
	s.quiet()
}

func TestPodThatLostItsControllerIsNotAdopted(t *testing.T) {
	finished, foreign, unmarked := helloJob(), helloJob(), helloJob()
	finished.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, "")}
	other := "example.com/controller"
	foreign.Spec.ManagedBy, unmarked.Spec.ManagedBy = &other, nil
	orphan := func() podBuilder { return helloPod("a", corev1.PodRunning).uncontrolled() }
	tests := map[string]struct {
		owner *batchv1.Job
		pod   podBuilder
	}{
		"Job being deleted": {deletingJob(helloJob()), orphan()},
		"Job finished":      {finished, orphan()},
		"Job of another":    {foreign, orphan()},
		"unmarked Job":      {unmarked, orphan()},
		"being deleted":     {helloJob(), orphan().deleting()},
		"other labels too":  {helloJob(), orphan().stranger()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.owner, helloPod("a", corev1.PodRunning)), nil)
			s.watch()
			s.updatePod(test.pod.Pod)
			s.eventuallyTold("a disowned")
			if s.tracked("a") || len(s.pod("a").OwnerReferences) != 0 {
				t.Errorf("finalizers %v, owners %v", s.pod("a").Finalizers, s.pod("a").OwnerReferences)
			}
		})
	}
}

func TestPodThatAnotherControllerTakesIsLeftAlone(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).of(otherJob()).labelled(batchv1.ControllerUidLabel, "other-uid").Pod)
	s.eventuallyTold("a disowned")
	if !s.tracked("a") || !s.controlled("a", otherJob()) {
		t.Errorf("finalizers %v, owners %v", s.pod("a").Finalizers, s.pod("a").OwnerReferences)
	}
}

func TestOrphansSeenByTheWatch(t *testing.T) {
	finished, unmarked := helloJob(), helloJob()
	finished.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, "")}
	unmarked.Spec.ManagedBy = nil
	orphan := func(phase corev1.PodPhase) podBuilder {
		return helloPod("a", phase).uncontrolled().labelled(batchv1.JobNameLabel, jobName)
	}
	tests := map[string]struct {
		owner   *batchv1.Job
		pod     podBuilder
		with    []option
		adopted bool
	}{
		"running":                  {helloJob(), orphan(corev1.PodRunning), nil, true},
		"running, never tracked":   {helloJob(), orphan(corev1.PodRunning).released(), nil, true},
		"ended":                    {helloJob(), orphan(corev1.PodFailed), nil, true},
		"ended and accounted":      {helloJob(), orphan(corev1.PodFailed).released(), nil, false},
		"no such Job":              {otherJob(), orphan(corev1.PodRunning), nil, false},
		"no Job named":             {helloJob(), orphan(corev1.PodRunning).labelled(batchv1.JobNameLabel, ""), nil, false},
		"Job finished":             {finished, orphan(corev1.PodRunning), nil, false},
		"unmarked Job":             {unmarked, orphan(corev1.PodRunning), nil, false},
		"unmarked Job, taken over": {unmarked, orphan(corev1.PodRunning), []option{takingOver}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.owner), nil, test.with...)
			s.watch()
			s.createPod(test.pod)
			if test.adopted {
				eventually(t, "the Pod is adopted", func() bool { return s.controlled("a", test.owner) && s.tracked("a") && s.seen("a") })
			} else {
				ended := test.pod.Status.Phase == corev1.PodFailed
				eventually(t, "the Pod is released", func() bool { return !s.tracked("a") && s.seen("a") != ended })
			}
			switch {
			case test.adopted && test.pod.Status.Phase == corev1.PodFailed:
				s.eventuallyTold("a ended")
			case test.adopted:
				s.eventuallyTold("a")
			}
		})
	}
}

func TestOrphanWithoutTheJobsNameIsAdoptedByAJobThatIsWatched(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("other", corev1.PodRunning)), nil)
	s.watch()
	s.createPod(helloPod("a", corev1.PodRunning).uncontrolled())
	eventually(t, "the Pod is adopted", func() bool { return s.controlled("a", helloJob()) && s.tracked("a") })
}

func TestPodsOfAJobWithASelectorOfItsOwn(t *testing.T) {
	manual := func(name string, phase corev1.PodPhase) podBuilder {
		return helloPod(name, phase).stranger().labelled("app", "hello")
	}
	s := newStage(t, objects(manualJob(), manual("a", corev1.PodSucceeded), manual("b", corev1.PodRunning), manual("c", corev1.PodRunning)), nil)
	s.watch()
	s.eventuallyTold("a ended")
	s.updatePod(manual("b", corev1.PodFailed).Pod)
	s.eventuallyTold("a ended", "b ended")
	s.updatePod(manual("c", corev1.PodRunning).labelled("app", "other").Pod)
	s.eventuallyTold("a ended", "b ended", "c disowned")
	if s.controlled("c", manualJob()) || !s.controlled("b", manualJob()) {
		t.Error("the wrong Pod was let go")
	}
}

// TestAccountedPodsAreForgotten: the watch's memory is of what is not accounted.
func TestAccountedPodsAreForgotten(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodRunning)), nil)
	stop := s.watch()
	s.eventuallyTold("a ended")
	release := func(name string, phase corev1.PodPhase) {
		must[protocol.JobResult](s, protocol.ReleasePodsActivity, protocol.ReleasePodsRequest{
			Job: jobRef, Releases: []job.Release{{Name: name, UID: name + "-uid", Phase: phase}},
		})
	}
	release("a", corev1.PodSucceeded)
	s.updatePod(helloPod("b", corev1.PodFailed).Pod)
	s.eventuallyTold("a ended", "b ended")
	release("b", corev1.PodFailed)
	eventually(t, "no Job is watched", func() bool { return s.gauge("ostinato_podwatch_jobs") == 0 })
	_ = stop()
	for _, action := range s.kubernetes.Actions() {
		if action.GetVerb() == "get" && action.GetResource().Resource == "pods" {
			t.Errorf("an accounted Pod is looked up: %v", action)
		}
	}
	s.watch()
	s.quiet("a ended", "b ended")
}

func TestPodsOfAnothersJobAreLeftAlone(t *testing.T) {
	foreign := helloJob()
	foreign.Spec.ManagedBy = nil // taken over before, and not any more
	s := newStage(t, objects(foreign, helloPod("a", corev1.PodSucceeded)), nil)
	s.signals.set(func(string) error { return closed })
	s.watch()
	eventually(t, "the workflow is missing", func() bool { return s.signals.attempts() == 1 })
	s.updatePod(helloPod("a", corev1.PodSucceeded).annotated("changed", "yes").Pod)
	s.createPod(helloPod("other", corev1.PodFailed).of(otherJob()))
	eventually(t, "another Job's Pod is signalled", func() bool { return s.signals.attempts() >= 2 })
	if !s.tracked("a") {
		t.Error("the Pod was released")
	}
}

// TestSweepForPodsLeftByTheBuiltinController: they have the finalizer and not the
// watch's label, and their Jobs were deleted while nobody looked.
func TestSweepForPodsLeftByTheBuiltinController(t *testing.T) {
	left := func(name string) podBuilder {
		return helloPod(name, corev1.PodSucceeded).unseen().labelled(batchv1.JobNameLabel, jobName)
	}
	alive, ended := otherJob(), otherJob()
	alive.Name, alive.UID = "alive", "alive-uid"
	ended.Name, ended.UID = "ended", "ended-uid"
	ended.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, "")}
	alive.Spec.ManagedBy, ended.Spec.ManagedBy = nil, nil
	world := func() []runtime.Object {
		return append(objects(alive, left("of-gone"), left("of-alive").of(alive), left("of-ended").of(ended)), ended)
	}
	t.Run("taken over", func(t *testing.T) {
		s := newStage(t, world(), nil, takingOver)
		s.watch()
		eventually(t, "Pods that nobody counts are released", func() bool { return !s.tracked("of-gone") && !s.tracked("of-ended") })
		if !s.tracked("of-alive") {
			t.Error("a Pod was released that is yet to be counted")
		}
	})
	t.Run("not taken over", func(t *testing.T) {
		s := newStage(t, world(), nil)
		s.watch()
		s.quiet()
		if !s.tracked("of-gone") || !s.tracked("of-ended") {
			t.Error("a Pod was released that is not ours")
		}
	})
}

// TestManyPodsEndAtOnce: 5,000 Pods of one Job.
func TestManyPodsEndAtOnce(t *testing.T) {
	const count = 5000
	running := &corev1.PodList{}
	for i := range count {
		running.Items = append(running.Items, *helloPod(fmt.Sprintf("pod-%04d", i), corev1.PodRunning).ready(true).Pod)
	}
	s := newStage(t, objects(helloJob()), nil)
	// The tracker of the fake API server takes milliseconds for an update.
	s.kubernetes.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, running.DeepCopy(), nil
	})
	stream := watch.NewFakeWithChanSize(count, false)
	s.kubernetes.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		s.watches.Add(1)
		return true, stream, nil
	})
	s.watch()
	began := time.Now()
	for i := range running.Items {
		ended := running.Items[i].DeepCopy()
		ended.Status.Phase = corev1.PodSucceeded
		stream.Modify(ended)
	}
	eventually(t, "all ends are signalled", func() bool { return len(s.signals.names()) == count })
	took := time.Since(began)
	// One a second, and as many as it takes to hold all of them.
	if signals := len(s.signals.all()); signals > count/protocol.MaxFactsPerSignal+2*int(took/time.Second)+3 {
		t.Errorf("%d signals in %v", signals, took)
	}
	t.Logf("%d ends in %v by %d signals", count, took, len(s.signals.all()))
}
