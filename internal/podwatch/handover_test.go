package podwatch_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/podwatch"
)

// inStatus gives the Job a status with so many Pods.
func inStatus(job *batchv1.Job, active, terminating int32) *batchv1.Job {
	job.Status.Active, job.Status.Terminating = active, ptr.To(terminating)
	return job
}

// TestPodsThatWentInTheGapAreLookedFor: released Pods that end or vanish while nobody
// watches leave nothing behind but a status that still counts them.
func TestPodsThatWentInTheGapAreLookedFor(t *testing.T) {
	running := func(name string) podBuilder { return helloPod(name, corev1.PodRunning) }
	ended := func(name string) podBuilder { return helloPod(name, corev1.PodFailed) }
	tests := map[string]struct {
		job  *batchv1.Job
		pods []podBuilder
		with []option
		look bool
	}{
		"a terminating Pod is gone":              {inStatus(helloJob(), 0, 1), nil, nil, true},
		"an active Pod is gone":                  {inStatus(helloJob(), 1, 0), nil, nil, true},
		"one of two is gone":                     {inStatus(helloJob(), 1, 1), []podBuilder{running("a")}, nil, true},
		"it has ended and was released":          {inStatus(helloJob(), 0, 1), []podBuilder{ended("a").Released().Deleting()}, nil, true},
		"it is of another Job of the name":       {inStatus(helloJob(), 1, 0), []podBuilder{running("a").Of(otherJob())}, nil, true},
		"it is elsewhere":                        {inStatus(helloJob(), 1, 0), []podBuilder{running("a").In("elsewhere")}, nil, true},
		"the Job is taken over":                  {managedBy(inStatus(helloJob(), 1, 0), nil), nil, []option{takingOver}, true},
		"all are there":                          {inStatus(helloJob(), 1, 1), []podBuilder{running("a"), running("b").Released()}, nil, false},
		"more are there":                         {inStatus(helloJob(), 0, 0), []podBuilder{running("a")}, nil, false},
		"one has ended, and is yet to be told":   {inStatus(helloJob(), 1, 0), []podBuilder{ended("a")}, nil, false},
		"the Job never had any":                  {helloJob(), nil, nil, false},
		"the Job has finished":                   {finishedJob(inStatus(helloJob(), 1, 0), batchv1.JobFailed), nil, nil, false},
		"the Job is another's":                   {managedBy(inStatus(helloJob(), 1, 0), nil), nil, nil, false},
		"the Job is in a namespace not watched":  {inStatus(helloJob(), 1, 0), nil, []option{serving("elsewhere")}, false},
		"the Job is in a namespace that is":      {inStatus(helloJob(), 1, 0), nil, []option{serving("elsewhere", namespace)}, true},
		"the Job is another shard's":             {inStatus(helloJob(), 1, 0), nil, []option{inShard(false)}, false},
		"the Job is the shard's":                 {inStatus(helloJob(), 1, 0), nil, []option{inShard(true)}, true},
		"the Job's Pods are those of long ago":   {inStatus(helloJob(), 1, 0), []podBuilder{running("a").Unseen()}, nil, true},
		"the status says nothing of terminating": {withoutTerminating(inStatus(helloJob(), 1, 0)), nil, nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(noon)
			s := newStage(t, objects(test.job, test.pods...), append(test.with, withClock(clock))...)
			s.watch()
			if test.look {
				s.passes(clock, "the workflow is to look", func() bool { return slices.Contains(s.told(), "look") })
				for _, signal := range s.signals.all() {
					if signal.facts.Look && (signal.workflowID != workflowID || signal.facts.JobUID != jobUID) {
						t.Errorf("signal %+v", signal)
					}
				}
			}
			s.passesQuietly(clock, 10)
			looks := slices.DeleteFunc(s.told(), func(fact string) bool { return fact != "look" })
			if want := map[bool]int{true: 1}[test.look]; len(looks) != want {
				t.Errorf("the workflow is to look %d times, want %d", len(looks), want)
			}
		})
	}
}

// inShard makes the watch one of the shard of the hello Job, or of another.
func inShard(its bool) option {
	return func(options *podwatch.Options) {
		options.Shards = names.WatchBuckets
		for shard := range names.WatchBuckets {
			if (names.WatchBucket(jobUID) == strconv.Itoa(shard)) == its {
				options.Shard = shard
				return
			}
		}
	}
}

func withoutTerminating(job *batchv1.Job) *batchv1.Job {
	job.Status.Terminating = nil
	return job
}

// TestAStatusThatIsAboutToBeWrittenIsWaitedFor: a Pod that ended just now is counted and
// released within the time that a look waits.
func TestAStatusThatIsAboutToBeWrittenIsWaitedFor(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(inStatus(helloJob(), 1, 0)), withClock(clock))
	s.watch()
	eventually(t, "the Jobs are listed", func() bool { return s.asked("list", "jobs") == 1 })
	if err := s.kubernetes.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), inStatus(helloJob(), 0, 0), namespace); err != nil {
		t.Fatal(err)
	}
	s.passes(clock, "the Job is looked at again", func() bool { return s.asked("get", "jobs") == 1 })
	s.passesQuietly(clock, 10)
	if told := s.told(); len(told) != 0 {
		t.Errorf("told %q", told)
	}
}

// TestAJobWithoutWorkflowIsNotTold: the workflow that is yet to start lists its Pods.
func TestAJobWithoutWorkflowIsNotTold(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(inStatus(helloJob(), 1, 0)), withClock(clock))
	s.signals.set(func(string) error { return closed })
	s.watch()
	s.passes(clock, "the workflow is to look", func() bool { return s.signals.attempts() == 1 })
	s.passesQuietly(clock, 10)
	if attempts := s.signals.attempts(); attempts != 1 {
		t.Errorf("%d attempts", attempts)
	}
}

func TestTheLookForWhatWentIsRepeatedUntilItSucceeds(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	s := newStage(t, objects(inStatus(helloJob(), 1, 0)), withClock(clock))
	failures := map[string]int{"list": 2, "get": 2}
	s.kubernetes.PrependReactor("*", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		failures[action.GetVerb()]--
		return failures[action.GetVerb()] >= 0, nil, apierrors.NewInternalError(errors.New("etcd is away"))
	})
	calls := 0
	s.signals.set(func(string) error {
		if calls++; calls < 3 {
			return errors.New("unavailable")
		}
		return nil
	})
	s.watch()
	s.passes(clock, "the workflow is to look", func() bool { return slices.Equal(s.told(), []string{"look"}) })
}
