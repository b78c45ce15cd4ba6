package podwatch_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/podwatch"
)

func withStatus(status batchv1.JobStatus) *batchv1.Job {
	found := helloJob()
	found.Status = status
	return found
}

func begun(active, terminating int32) batchv1.JobStatus {
	return batchv1.JobStatus{StartTime: ptr.To(metav1.NewTime(noon.Add(-time.Hour))), Active: active, Terminating: &terminating}
}

func TestAWorkflowListsThePodsIfItsNumbersDiffer(t *testing.T) {
	running := helloPod("a", corev1.PodRunning)
	ended := func() podBuilder { return helloPod("b", corev1.PodSucceeded) }
	over := begun(0, 0)
	over.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	suspended := batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}}
	for name, test := range map[string]struct {
		status  batchv1.JobStatus
		pods    []podBuilder
		differs bool
	}{
		"as many run as it says":                                {begun(1, 0), []podBuilder{running}, false},
		"more run":                                              {begun(0, 0), []podBuilder{running}, true},
		"one runs of a suspended Job":                           {suspended, []podBuilder{running}, true},
		"one runs of a Job that has not begun":                  {batchv1.JobStatus{}, []podBuilder{running}, false},
		"one runs of a Job that is over":                        {over, []podBuilder{running}, false},
		"one that runs has vanished":                            {begun(1, 0), nil, true},
		"one of two has vanished":                               {begun(2, 0), []podBuilder{running}, true},
		"one that was let go has vanished":                      {begun(1, 1), []podBuilder{running}, true},
		"one that was let go is there":                          {begun(1, 1), []podBuilder{running, helloPod("c", corev1.PodRunning).Released().Deleting()}, false},
		"one has ended, which the workflow will count":          {begun(2, 0), []podBuilder{running, ended()}, false},
		"one has ended and was released":                        {begun(1, 0), []podBuilder{running, ended().Released()}, false},
		"one was released, and the status still counts its run": {begun(2, 0), []podBuilder{running, ended().Released()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{helloJob()}
			for _, pod := range test.pods {
				objects = append(objects, pod.Pod)
			}
			clock := clocktesting.NewFakeClock(noon)
			s := newStage(t, objects, withClock(clock), func(options *podwatch.Options) {
				options.Jobs = func() iter.Seq[*batchv1.Job] { return slices.Values([]*batchv1.Job{withStatus(test.status)}) }
			})
			s.watch()
			differ := func() bool {
				return slices.ContainsFunc(s.signals.all(), func(one signal) bool {
					return one.facts.Differ && one.workflowID == workflowID && one.facts.JobUID == jobUID
				})
			}
			if test.differs {
				s.passes(clock, "the workflow is told", differ)
				return
			}
			s.passesQuietly(clock, 15)
			if differ() {
				t.Error("the workflow is told that its numbers differ")
			}
		})
	}
}

// TestAPodThatLandsAfterItsJobHasFinishedIsDeleted: no workflow counts what a create without an answer has made then, and its owner
// stays.
func TestAPodThatLandsAfterItsJobHasFinishedIsDeleted(t *testing.T) {
	finished := finishedJob(helloJob(), batchv1.JobFailed)
	finished.Status.StartTime = ptr.To(metav1.NewTime(noon.Add(-time.Hour)))
	another := managedBy(finished.DeepCopy(), ptr.To("example.com/controller"))
	for name, test := range map[string]struct {
		job     *batchv1.Job
		pod     podBuilder
		deleted bool
	}{
		"pending":                  {finished, helloPod("a", corev1.PodPending), true},
		"running":                  {finished, helloPod("a", corev1.PodRunning), true},
		"released":                 {finished, helloPod("a", corev1.PodRunning).Released(), false},
		"being deleted":            {finished, helloPod("a", corev1.PodRunning).Deleting(), false},
		"ended":                    {finished, helloPod("a", corev1.PodSucceeded), false},
		"of another controller":    {another, helloPod("a", corev1.PodRunning), false},
		"of a Job that is running": {withStatus(begun(0, 0)), helloPod("a", corev1.PodRunning), false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(noon)
			s := newStage(t, []runtime.Object{test.job, test.pod.Pod}, withClock(clock), func(options *podwatch.Options) {
				options.Jobs = func() iter.Seq[*batchv1.Job] { return slices.Values([]*batchv1.Job{test.job}) }
			})
			s.signals.set(func(string) error { return closed })
			s.watch()
			if test.deleted {
				s.passes(clock, "the Pod is deleted, and then released", func() bool {
					return s.asked("delete", "pods") == 1 && s.asked("patch", "pods") == 1
				})
				return
			}
			s.passesQuietly(clock, 15)
			if s.asked("delete", "pods") > 0 {
				t.Error("the Pod is deleted")
			}
		})
	}
}

// TestNewPodsDoNotDiffer: a Pod is created before the status that counts it is written.
func TestNewPodsDoNotDiffer(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, []runtime.Object{helloJob()}, withClock(clock), func(options *podwatch.Options) {
		options.Jobs = func() iter.Seq[*batchv1.Job] { return slices.Values([]*batchv1.Job{withStatus(begun(0, 0))}) }
	})
	s.watch()
	for n := range 10 {
		s.createPod(helloPod(fmt.Sprintf("young-%d", n), corev1.PodRunning))
		s.passesQuietly(clock, 2)
		s.deletePod(fmt.Sprintf("young-%d", n))
	}
	if slices.ContainsFunc(s.signals.all(), func(one signal) bool { return one.facts.Differ }) {
		t.Error("the workflow is told that its numbers differ")
	}
}

// TestNumbersThatStayDifferentAreToldLessAndLessOften: a list may not mend them, as where the workflow can't write the status.
func TestNumbersThatStayDifferentAreToldLessAndLessOften(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod}, withClock(clock), func(options *podwatch.Options) {
		options.Jobs = func() iter.Seq[*batchv1.Job] { return slices.Values([]*batchv1.Job{withStatus(begun(0, 0))}) }
	})
	s.signals.now = clock.Now
	s.watch()
	s.passes(clock, "four signals", func() bool { return len(s.signals.all()) >= 4 })
	var before time.Duration
	signals := s.signals.all()
	for n := range 3 {
		wait := signals[n+1].at.Sub(signals[n].at)
		if wait < 10*time.Second<<n || wait <= before {
			t.Errorf("signal %d comes %s after the one before, which waited %s", n+1, wait, before)
		}
		before = wait
	}
}
