package podwatch_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestPodThatLostTheWatchsLabelGetsItBack(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)))
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).Unseen())
	eventually(t, "the Pod is seen again", func() bool { return s.seen("a") })
	s.updatePod(helloPod("a", corev1.PodFailed))
	s.eventuallyTold("a ended")
}

func TestPodWhoseLabelsNoLongerMatchIsLetGo(t *testing.T) {
	tests := map[string]podBuilder{
		"no labels":                helloPod("a", corev1.PodRunning).Stranger().Unseen(),
		"other labels, still seen": helloPod("a", corev1.PodRunning).Stranger(),
	}
	for name, changed := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)))
			s.watch()
			s.updatePod(changed)
			s.eventuallyTold("a disowned")
			if s.controlled("a", helloJob()) || s.tracked("a") {
				t.Errorf("owners %v, finalizers %v, labels %v", s.pod("a").OwnerReferences, s.pod("a").Finalizers, s.pod("a").Labels)
			}
			s.quiet("a disowned")
		})
	}
}

func TestPodWhoseLabelsMatchAgainIsTakenBack(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodRunning)))
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).Stranger())
	eventually(t, "the Pod is let go", func() bool { return !s.controlled("a", helloJob()) })
	s.eventuallyTold("a disowned")
	back := s.pod("a")
	back.Labels[batchv1.ControllerUidLabel] = jobUID
	s.updatePod(podBuilder{Pod: back})
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
		"without":             helloPod("copy", corev1.PodRunning).Uncontrolled().Released().Labelled(batchv1.JobNameLabel, jobName),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)))
			s.watch()
			s.createPod(copied.MadeElsewhere())
			s.eventuallyTold("copy")
			if !s.controlled("copy", helloJob()) || !s.tracked("copy") {
				t.Errorf("owners %v, finalizers %v", s.pod("copy").OwnerReferences, s.pod("copy").Finalizers)
			}
			s.quiet("copy")
		})
	}
}

func TestPodWhoseLabelsNoLongerMatchStaysWithAJobThatIsBeingDeleted(t *testing.T) {
	s := newStage(t, objects(deletingJob(helloJob()), helloPod("a", corev1.PodRunning)))
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).Stranger())
	s.eventuallyTold("a disowned")
	if !s.controlled("a", helloJob()) || s.tracked("a") {
		t.Errorf("owners %v, finalizers %v", s.pod("a").OwnerReferences, s.pod("a").Finalizers)
	}
}

func TestPodThatLostItsControllerIsAdoptedAgain(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)))
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).Uncontrolled().Released())
	eventually(t, "the Pod is adopted", func() bool { return s.controlled("a", helloJob()) && s.tracked("a") })
	s.quiet()
}

func TestPodThatLostItsControllerIsNotAdopted(t *testing.T) {
	orphan := func() podBuilder { return helloPod("a", corev1.PodRunning).Uncontrolled() }
	tests := map[string]struct {
		owner *batchv1.Job
		pod   podBuilder
		// tracked: it is left as it is, for whoever the Job belongs to.
		tracked bool
	}{
		"Job being deleted": {deletingJob(helloJob()), orphan(), false},
		"Job finished":      {finishedJob(helloJob(), batchv1.JobFailed), orphan(), false},
		"Job of another":    {managedBy(helloJob(), ptr.To("example.com/controller")), orphan().Labelled(batchv1.JobNameLabel, jobName), true},
		"unmarked Job":      {managedBy(helloJob(), nil), orphan().Labelled(batchv1.JobNameLabel, jobName), true},
		"being deleted":     {helloJob(), orphan().Deleting(), false},
		"other labels too":  {helloJob(), orphan().Stranger(), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.owner, helloPod("a", corev1.PodRunning)))
			s.watch()
			s.updatePod(test.pod)
			s.eventuallyTold("a disowned")
			eventually(t, "the Pod is as it is to be", func() bool { return s.tracked("a") == test.tracked })
			if len(s.pod("a").OwnerReferences) != 0 {
				t.Errorf("owners %v", s.pod("a").OwnerReferences)
			}
			s.quiet("a disowned")
			if s.tracked("a") != test.tracked {
				t.Errorf("finalizers %v", s.pod("a").Finalizers)
			}
		})
	}
}

func TestPodThatAnotherControllerTakesIsLeftAlone(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)))
	s.watch()
	s.updatePod(helloPod("a", corev1.PodRunning).Of(otherJob()).Labelled(batchv1.ControllerUidLabel, "other-uid"))
	s.eventuallyTold("a disowned")
	if !s.tracked("a") || !s.controlled("a", otherJob()) {
		t.Errorf("finalizers %v, owners %v", s.pod("a").Finalizers, s.pod("a").OwnerReferences)
	}
}

func TestOrphansSeenByTheWatch(t *testing.T) {
	orphan := func(phase corev1.PodPhase) podBuilder {
		return helloPod("a", phase).Uncontrolled().Labelled(batchv1.JobNameLabel, jobName)
	}
	type fate int
	const (
		adopted fate = iota
		released
		left
	)
	unmarked := func() *batchv1.Job { return managedBy(helloJob(), nil) }
	tests := map[string]struct {
		owner *batchv1.Job
		pod   podBuilder
		with  []option
		fate  fate
	}{
		"running":                  {helloJob(), orphan(corev1.PodRunning), nil, adopted},
		"running, never tracked":   {helloJob(), orphan(corev1.PodRunning).Released(), nil, adopted},
		"ended":                    {helloJob(), orphan(corev1.PodFailed), nil, adopted},
		"ended and accounted":      {helloJob(), orphan(corev1.PodFailed).Released(), nil, left},
		"no such Job":              {otherJob(), orphan(corev1.PodRunning), nil, released},
		"no such Job, ended":       {otherJob(), orphan(corev1.PodFailed), nil, released},
		"no Job named":             {helloJob(), orphan(corev1.PodRunning).Labelled(batchv1.JobNameLabel, ""), nil, released},
		"Job finished":             {finishedJob(helloJob(), batchv1.JobComplete), orphan(corev1.PodRunning), nil, released},
		"unmarked Job":             {unmarked(), orphan(corev1.PodRunning), nil, left},
		"unmarked Job, taken over": {unmarked(), orphan(corev1.PodRunning), []option{takingOver}, adopted},
		"another's Job":            {managedBy(helloJob(), ptr.To("example.com/x")), orphan(corev1.PodRunning), []option{takingOver}, left},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.owner), test.with...)
			s.watch()
			s.createPod(test.pod)
			ended := test.pod.Status.Phase == corev1.PodFailed
			switch test.fate {
			case adopted:
				eventually(t, "the Pod is adopted", func() bool { return s.controlled("a", test.owner) && s.tracked("a") && s.seen("a") })
				want := "a"
				if ended {
					want = "a ended"
				}
				s.eventuallyTold(want)
			case released:
				eventually(t, "the Pod is released", func() bool { return !s.tracked("a") && s.seen("a") != ended })
			case left:
				s.quiet()
				if left := s.pod("a"); !slices.Equal(left.Finalizers, test.pod.Finalizers) || len(left.OwnerReferences) != 0 || !s.seen("a") {
					t.Errorf("finalizers %v, owners %v, labels %v", left.Finalizers, left.OwnerReferences, left.Labels)
				}
			}
		})
	}
}

func TestOrphanWithoutTheJobsNameIsAdoptedByAJobThatIsWatched(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("other", corev1.PodRunning)))
	s.watch()
	s.createPod(helloPod("a", corev1.PodRunning).Uncontrolled())
	eventually(t, "the Pod is adopted", func() bool { return s.controlled("a", helloJob()) && s.tracked("a") })
}

func TestPodsOfAJobWithASelectorOfItsOwn(t *testing.T) {
	manual := func(name string, phase corev1.PodPhase) podBuilder {
		return helloPod(name, phase).Stranger().Labelled("app", "hello")
	}
	s := newStage(t, objects(manualJob(), manual("a", corev1.PodSucceeded), manual("b", corev1.PodRunning), manual("c", corev1.PodRunning)))
	s.watch()
	s.eventuallyTold("a ended")
	s.updatePod(manual("b", corev1.PodFailed))
	s.eventuallyTold("a ended", "b ended")
	s.updatePod(manual("c", corev1.PodRunning).Labelled("app", "other"))
	s.eventuallyTold("a ended", "b ended", "c disowned")
	if s.controlled("c", manualJob()) || !s.controlled("b", manualJob()) {
		t.Error("the wrong Pod was let go")
	}
}

// Where the API server answers nothing about Pods, workflows hear what is known.
func TestNoFactWaitsForALook(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning).Stranger(), helloPod("b", corev1.PodSucceeded)))
	hang := make(chan struct{})
	s.kubernetes.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-hang
		return true, nil, errors.New("too late")
	})
	s.run()
	t.Cleanup(func() { close(hang) })
	s.eventuallyTold("b ended")
}

// TestAccountedPodsAreForgotten: the watch's memory is of what is not accounted.
func TestAccountedPodsAreForgotten(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodRunning)))
	stop := s.watch()
	s.eventuallyTold("a ended")
	release := func(name string) {
		if _, err := k8s.ReleasePod(t.Context(), s.kubernetes, namespace, name, types.UID(name+"-uid"), true); err != nil {
			t.Fatal(err)
		}
	}
	release("a")
	s.updatePod(helloPod("b", corev1.PodFailed))
	s.eventuallyTold("a ended", "b ended")
	release("b")
	eventually(t, "no Job is watched", func() bool { return s.metric("ostinato_podwatch_jobs") == 0 })
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
	foreign := managedBy(helloJob(), nil) // taken over before, and not any more
	s := newStage(t, objects(foreign, helloPod("a", corev1.PodSucceeded)))
	s.signals.set(func(string) error { return closed })
	s.watch()
	eventually(t, "the workflow is missing", func() bool { return s.signals.attempts() == 1 })
	s.updatePod(helloPod("a", corev1.PodSucceeded).Annotated("changed", "yes"))
	s.createPod(helloPod("other", corev1.PodFailed).Of(otherJob()))
	eventually(t, "another Job's Pod is signalled", func() bool { return s.signals.attempts() >= 2 })
	if !s.tracked("a") {
		t.Error("the Pod was released")
	}
}

// TestSweepForPodsLeftByTheBuiltinController: they have the finalizer and not the
// watch's label, and their Jobs were deleted while nobody looked.
func TestSweepForPodsLeftByTheBuiltinController(t *testing.T) {
	left := func(name string) podBuilder {
		return helloPod(name, corev1.PodSucceeded).Unseen().Labelled(batchv1.JobNameLabel, jobName)
	}
	alive, ended := managedBy(otherJob(), nil), managedBy(finishedJob(otherJob(), batchv1.JobComplete), nil)
	alive.Name, alive.UID = "alive", "alive-uid"
	ended.Name, ended.UID = "ended", "ended-uid"
	world := func() []runtime.Object {
		return append(objects(alive, left("of-gone"), left("of-alive").Of(alive), left("of-ended").Of(ended)), ended)
	}
	t.Run("taken over", func(t *testing.T) {
		s := newStage(t, world(), takingOver)
		s.watch()
		eventually(t, "Pods that nobody counts are released", func() bool { return !s.tracked("of-gone") && !s.tracked("of-ended") })
		if !s.tracked("of-alive") {
			t.Error("a Pod was released that is yet to be counted")
		}
	})
	t.Run("taken over, while the API server does not answer", func(t *testing.T) {
		clock := clocktesting.NewFakeClock(noon)
		s := newStage(t, world(), takingOver, withClock(clock))
		failures := 2
		s.kubernetes.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			failures--
			return failures >= 0, nil, apierrors.NewInternalError(errors.New("etcd is away"))
		})
		s.watch()
		s.passes(clock, "Pods that nobody counts are released", func() bool { return !s.tracked("of-gone") && !s.tracked("of-ended") })
	})
	t.Run("not taken over", func(t *testing.T) {
		s := newStage(t, world())
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
		running.Items = append(running.Items, *helloPod(fmt.Sprintf("pod-%04d", i), corev1.PodRunning).Ready().Pod)
	}
	s := newStage(t, objects(helloJob()))
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
