package podwatch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

var closed = serviceerror.NewNotFound("workflow execution already completed")

func TestWatchSignalsTheEndOfAPod(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod})
	s.watch()
	s.updatePod(helloPod("a", corev1.PodSucceeded))
	eventually(t, "the Pod's end is signalled", func() bool { return len(s.signals.all()) == 1 })
	signal := s.signals.all()[0]
	if signal.workflowID != workflowID || signal.facts.JobUID != jobUID || len(signal.facts.Facts) != 1 ||
		signal.facts.Facts[0].Phase != corev1.PodSucceeded || !signal.facts.Facts[0].Tracked {
		t.Errorf("signal %+v", signal)
	}
}

func TestWatchSignalsAPodThatVanishes(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Released().Pod, helloPod("b", corev1.PodFailed).Pod})
	s.watch()
	eventually(t, "the watch is there", func() bool { return slices.Contains(s.signals.names(), "b") })
	s.deletePod("a")
	eventually(t, "the vanished Pod is signalled", func() bool {
		return slices.ContainsFunc(s.signals.all(), func(signal signal) bool {
			return signal.facts.Facts[0].Name == "a" && signal.facts.Facts[0].Gone
		})
	})
}

// The watch may have missed that a Pod went and another of its name came.
func TestWatchSignalsAPodThatWasReplacedUnderItsName(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod, helloPod("b", corev1.PodFailed).Pod})
	s.watch()
	eventually(t, "the watch is there", func() bool { return slices.Contains(s.signals.names(), "b") })
	another := helloPod("a", corev1.PodFailed)
	another.UID = "another"
	s.updatePod(another)
	eventually(t, "both are signalled", func() bool {
		told := s.told()
		return slices.Contains(told, "a gone") && slices.Contains(told, "a ended")
	})
}

// TestTakeOverSignalsExactlyWhatIsNotAccounted: a second watch on the same
// cluster, which remembers nothing of the first.
func TestTakeOverSignalsExactlyWhatIsNotAccounted(t *testing.T) {
	s := newStage(t, []runtime.Object{
		helloJob(),
		helloPod("ended", corev1.PodSucceeded).Pod,
		helloPod("ended-and-released", corev1.PodFailed).Released().Pod,
		helloPod("pending", corev1.PodPending).Pod,
		helloPod("running", corev1.PodRunning).Pod,
		helloPod("terminating", corev1.PodRunning).Deleting().Pod,
	})
	want := []string{"ended", "terminating"}
	first := s.watch()
	eventually(t, "the first watch signals", func() bool { return slices.Equal(s.signals.names(), want) })
	if err := first(); err == nil {
		t.Error("a watch whose worker stops ends without error: it would not be taken over")
	}
	s.watch()
	eventually(t, "the second watch signals", func() bool { return slices.Equal(s.signals.names(), append(want, want...)) })

	// After the release a third has nothing more to say of that Pod.
	s.updatePod(helloPod("ended", corev1.PodSucceeded).Released())
	s.watch()
	eventually(t, "the third watch signals", func() bool {
		return slices.Equal(s.signals.names(), append(slices.Concat(want, want), "terminating"))
	})
	if lists := s.asked("list", "jobs"); lists > 0 {
		t.Errorf("the Jobs were listed %d times", lists)
	}
}

func TestSignalsToOneJobAreASecondApart(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	objects := []runtime.Object{helloJob()}
	for i := range 4 {
		objects = append(objects, helloPod(fmt.Sprintf("pod-%d", i), corev1.PodRunning).Pod)
	}
	s := newStage(t, objects, withClock(clock))
	s.signals.now = clock.Now
	s.watch()
	s.updatePod(helloPod("pod-0", corev1.PodFailed))
	eventually(t, "the first change is signalled", func() bool { return len(s.signals.all()) == 1 })
	s.updatePod(helloPod("pod-1", corev1.PodFailed))
	s.updatePod(helloPod("pod-2", corev1.PodFailed))
	eventually(t, "the second signal comes", func() bool {
		if len(s.signals.all()) == 1 {
			clock.Step(50 * time.Millisecond)
		}
		return len(s.signals.all()) == 2
	})
	signals := s.signals.all()
	if apart := signals[1].at.Sub(signals[0].at); apart < time.Second {
		t.Errorf("signals %v apart", apart)
	}
	if names := s.signals.names(); !slices.Equal(names, []string{"pod-0", "pod-1", "pod-2"}) {
		t.Errorf("signalled %v, want both changes in the second signal", names)
	}
	// The clock stands still, but nothing of the Job runs any more.
	s.updatePod(helloPod("pod-3", corev1.PodSucceeded))
	eventually(t, "the last Pod's end is signalled at once", func() bool { return len(s.signals.all()) == 3 })
}

func TestSignalHoldsFiveHundredFacts(t *testing.T) {
	objects := []runtime.Object{helloJob()}
	for i := range 501 {
		objects = append(objects, helloPod(fmt.Sprintf("pod-%03d", i), corev1.PodSucceeded).Pod)
	}
	s := newStage(t, objects)
	s.watch()
	eventually(t, "all facts are signalled", func() bool { return len(s.signals.names()) == 501 })
	if signals := s.signals.all(); len(signals) != 2 || len(signals[0].facts.Facts) != 500 {
		t.Errorf("%d signals, %d facts in the first", len(signals), len(signals[0].facts.Facts))
	}
}

func TestSignalThatFailsIsRepeatedUntilItIsTaken(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodFailed).Pod})
	s.signals.set(func(string) error { return serviceerror.NewUnavailable("down") })
	s.watch()
	eventually(t, "the signal is tried again", func() bool { return s.signals.attempts() >= 3 })
	s.signals.set(nil)
	eventually(t, "the signal is taken", func() bool { return slices.Equal(s.signals.names(), []string{"a"}) })
}

func TestPodOfARunningJobWithoutWorkflowWaitsForIt(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodSucceeded).Pod})
	s.signals.set(func(string) error { return closed })
	s.watch()
	eventually(t, "the signal is tried again", func() bool { return s.signals.attempts() >= 3 })
	if !s.tracked("a") {
		t.Fatal("a Pod that nobody has counted was released")
	}
	s.signals.set(nil) // the bridge has started the workflow
	eventually(t, "the signal is taken", func() bool { return slices.Equal(s.signals.names(), []string{"a"}) })
}

func TestOrphansAreReleased(t *testing.T) {
	finished := finishedJob(helloJob(), batchv1.JobFailed)
	recreated := helloJob()
	recreated.UID = "new-uid"
	running, failed := helloPod("b", corev1.PodRunning).Pod, helloPod("b", corev1.PodFailed).Pod
	for name, objects := range map[string][]runtime.Object{
		"Job gone": {running}, "Job finished": {finished, failed}, "Job re-created": {recreated, running},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, append(objects, helloPod("a", corev1.PodSucceeded).Pod))
			s.signals.set(func(string) error { return closed })
			s.watch()
			eventually(t, "both Pods are released", func() bool { return !s.tracked("a") && !s.tracked("b") })
			if finalizers := s.pod("a").Finalizers; !slices.Equal(finalizers, []string{"example.com/archive"}) {
				t.Errorf("finalizers %v", finalizers)
			}
			eventually(t, "they are counted", func() bool { return s.metric("ostinato_podwatch_orphans_released_total") == 2 })
		})
	}
}

func TestPodCutLooseIsReleased(t *testing.T) {
	s := newStage(t, []runtime.Object{helloPod("a", corev1.PodRunning).Uncontrolled().Pod})
	s.watch()
	eventually(t, "the Pod is released", func() bool { return !s.tracked("a") })
}

func TestReadinessIsProjectedWithoutASignal(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()})
	s.watch()
	s.createPod(helloPod("a", corev1.PodPending))
	pod := s.pod("a")
	pod.Status = helloPod("a", corev1.PodRunning).Ready().Status
	s.updatePod(podBuilder{Pod: pod})
	eventually(t, "status.ready is 1", func() bool { return s.ready(jobName) == 1 })
	if names := s.signals.names(); len(names) != 0 {
		t.Errorf("readiness woke the workflow: %v", names)
	}
}

func TestTerminatedTrackedPodsAreCounted(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodSucceeded).Pod})
	s.watch()
	const metric = "job_controller_terminated_pods_tracking_finalizer_total"
	eventually(t, "the Pod's end is counted", func() bool { return s.metric(metric, "add") == 1 })
	s.updatePod(helloPod("a", corev1.PodSucceeded).Released())
	eventually(t, "its release is counted", func() bool { return s.metric(metric, "delete") == 1 })
}

func TestAnImpossibleShardIsAnError(t *testing.T) {
	options := newStage(t, nil).options
	options.Shard, options.Shards = 3, 2
	if _, err := podwatch.New(options); err == nil {
		t.Error("shard 3 of 2 can be watched")
	}
}

// TestAPodSpeaksForTheJobOfItsNamespaceOnly: whoever makes a Pod writes its owner
// references, with any name and UID.
func TestAPodSpeaksForTheJobOfItsNamespaceOnly(t *testing.T) {
	for name, pod := range map[string]podBuilder{
		"another namespace": helloPod("a", corev1.PodFailed).In("elsewhere"),
		"another name":      helloPod("a", corev1.PodFailed).Of(func() *batchv1.Job { job := helloJob(); job.Name = "other"; return job }()),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob(), pod, helloPod("b", corev1.PodRunning)))
			s.watch()
			s.updatePod(helloPod("b", corev1.PodSucceeded))
			eventually(t, "both ends are signalled", func() bool { return len(s.signals.names()) >= 2 })
			for _, signal := range s.signals.all() {
				if signal.workflowID == workflowID && (len(signal.facts.Facts) != 1 || signal.facts.Facts[0].Name != "b") {
					t.Errorf("the Job is told of %+v", signal.facts.Facts)
				}
			}
		})
	}
}

// TestReadinessOfAnothersJobIsLeftAlone: its Pods may have the watch's label.
func TestReadinessOfAnothersJobIsLeftAlone(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(managedBy(helloJob(), nil)), withClock(clock))
	s.watch()
	s.createPod(helloPod("a", corev1.PodRunning).Ready())
	s.passes(clock, "the Job is read", func() bool { return s.asked("get", "jobs") > 0 })
	s.passesQuietly(clock, 10)
	if s.asked("patch", "jobs") > 0 {
		t.Error("the status of a Job was written that is not ours")
	}
}

// A Job whose workflow has not begun has no active Pods by its status, and takes no ready ones.
func TestReadinessWaitsForTheJobsWorkflow(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(fixture.HelloJob()), withClock(clock))
	s.watch()
	s.createPod(helloPod("a", corev1.PodRunning).Ready())
	s.passes(clock, "the Job is read", func() bool { return s.asked("get", "jobs") > 0 })
	s.passesQuietly(clock, 10)
	if s.asked("patch", "jobs") > 0 {
		t.Error("readiness was written of a Job whose workflow has not begun")
	}
	if _, err := s.kubernetes.BatchV1().Jobs(namespace).UpdateStatus(t.Context(), helloJob(), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.passes(clock, "readiness is projected", func() bool { return s.ready(jobName) == 1 })
}

func TestReadinessOfAJobThatIsGoneIsNotWritten(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	recreated := helloJob()
	recreated.UID = "new-uid"
	for name, objects := range map[string][]runtime.Object{"gone": nil, "re-created": {recreated}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects, withClock(clock))
			s.watch()
			s.createPod(helloPod("a", corev1.PodRunning).Ready())
			s.passes(clock, "the Job is read", func() bool { return s.asked("get", "jobs") > 0 })
			s.passesQuietly(clock, 10)
			if s.asked("patch", "jobs") > 0 {
				t.Error("written")
			}
		})
	}
}

func TestAWatchOfSomeNamespacesStaysInThem(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodSucceeded).In("elsewhere")), serving("shop", namespace), takingOver)
	s.watch()
	s.eventuallyTold("a ended")
	eventually(t, "watch and sweep have listed both", func() bool { return s.asked("list", "pods") == 4 })
	for _, action := range s.kubernetes.Actions() {
		if action.GetNamespace() != "shop" && action.GetNamespace() != namespace {
			t.Errorf("%s %s in namespace %q", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
		}
	}
}
