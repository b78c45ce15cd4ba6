package podwatch_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/testing/fixture"
)

// sightOfJob is the hello Job as the worker sees it.
type sightOfJob struct {
	mutex sync.Mutex
	job   *batchv1.Job
}

func (s *sightOfJob) set(job *batchv1.Job) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.job = job
}

func (s *sightOfJob) seenBy(options *podwatch.Options) {
	options.Job = func(_, name string, _ types.UID) *batchv1.Job {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if name != jobName {
			return nil
		}
		return s.job
	}
}

// beginning says whether the process is to start the workflows of Jobs.
type beginning struct{ atomic.Bool }

func (b *beginning) seenBy(options *podwatch.Options) {
	options.Begins = func(string, string, types.UID) bool { return b.Load() }
}

// createdJob is a Job of ours whose workflow has not begun.
func createdJob(at time.Time) *batchv1.Job {
	job := managedBy(fixture.HelloJob(), ptr.To(names.JobController))
	job.CreationTimestamp = metav1.NewTime(at)
	return job
}

func TestPodsOfAJobWhoseWorkflowIsToBeStartedWait(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	var seen sightOfJob
	var begins beginning
	begins.Store(true)
	created := createdJob(noon)
	seen.set(created)
	s := newStage(t, objects(created, helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodRunning).Ready()), withClock(clock), seen.seenBy, begins.seenBy)
	s.watch()
	s.passesQuietly(clock, 10)
	if attempts, reads := s.signals.attempts(), s.asked("get", "jobs"); attempts+reads > 0 {
		t.Errorf("%d signals and %d reads of the Job, want none before its workflow begins", attempts, reads)
	}
	begins.Store(false)
	s.passes(clock, "the end is signalled", func() bool { return slices.Equal(s.told(), []string{"a ended", "b"}) })
}

// A workflow that starts with the end of a Pod hears of it no more.
func TestWhatAWorkflowStartsWithIsNotSignalled(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	var seen sightOfJob
	var begins beginning
	begins.Store(true)
	created := createdJob(noon)
	seen.set(created)
	s := newStage(t, objects(created, helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodRunning)), withClock(clock), seen.seenBy, begins.seenBy)
	s.watch()
	s.passesQuietly(clock, 3)
	for _, fails := range []bool{true, false} {
		err := s.watcher.Begin(created.Namespace, created.Name, created.UID, func(due []job.PodFact) ([]job.PodFact, error) {
			if len(due) != 1 || due[0].Name != "a" {
				t.Errorf("due is %+v", due)
			}
			if fails {
				return due, errors.New("Temporal is away")
			}
			return due, nil
		})
		if fails != (err != nil) {
			t.Error(err)
		}
	}
	begins.Store(false)
	s.passesQuietly(clock, 5)
	if told := s.told(); len(told) > 0 {
		t.Errorf("signalled %q", told)
	}
	s.updatePod(helloPod("b", corev1.PodFailed))
	s.passes(clock, "the other end is signalled", func() bool { return slices.Equal(s.told(), []string{"b ended"}) })
}

func TestNobodyHearsOfReleasedPodsOfAFinishedJob(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	var seen sightOfJob
	seen.set(finishedJob(createdJob(noon), batchv1.JobComplete))
	s := newStage(t, objects(createdJob(noon), helloPod("a", corev1.PodRunning)), withClock(clock), seen.seenBy)
	s.watch()
	s.updatePod(helloPod("a", corev1.PodSucceeded).Released())
	s.passesQuietly(clock, 3)
	if attempts, reads := s.signals.attempts(), s.asked("get", "jobs"); attempts+reads > 0 {
		t.Errorf("%d signals and %d reads of the Job, want none: it has finished and its Pod is released", attempts, reads)
	}
	// One that is not released is looked into, as ever.
	s.createPod(helloPod("b", corev1.PodFailed))
	s.passes(clock, "the last Pod is signalled", func() bool { return slices.Equal(s.told(), []string{"b ended"}) })
}

func TestAJobThatIsSeenIsNotReadForItsReadiness(t *testing.T) {
	for name, test := range map[string]struct {
		job    *batchv1.Job
		writes bool
	}{
		"ours":             {helloJob(), true},
		"another's":        {managedBy(helloJob(), nil), false},
		"without a status": {createdJob(noon), false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(noon)
			var seen sightOfJob
			seen.set(test.job)
			s := newStage(t, objects(test.job, helloPod("a", corev1.PodRunning).Ready()), withClock(clock), seen.seenBy)
			s.watch()
			s.passesQuietly(clock, 30)
			if reads, writes := s.asked("get", "jobs"), s.asked("patch", "jobs"); reads > 0 || (writes > 0) != test.writes {
				t.Errorf("%d reads, %d writes", reads, writes)
			}
		})
	}
}

// A release removes the watch's label. The workflow has found the end of this Pod itself, so PodWatch has not sent it.
func TestAPodThatAFinishedJobHasReleasedIsReadOnce(t *testing.T) {
	for name, test := range map[string]struct {
		pod  podBuilder
		jobs int
	}{
		"released":     {helloPod("a", corev1.PodSucceeded).Released(), 0},
		"not released": {helloPod("a", corev1.PodSucceeded), 1},
		"running":      {helloPod("a", corev1.PodRunning).Released(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(noon)
			var seen sightOfJob
			finished := finishedJob(createdJob(noon), batchv1.JobComplete)
			seen.set(finished)
			s := newStage(t, objects(finished, helloPod("a", corev1.PodRunning)), withClock(clock), seen.seenBy)
			s.watch()
			delete(test.pod.Labels, names.WatchBucketLabel)
			s.updatePod(test.pod)
			s.passesQuietly(clock, 3)
			if jobs, pods := s.asked("get", "jobs"), s.asked("get", "pods"); jobs < test.jobs || test.jobs == 0 && jobs+pods != 1 {
				t.Errorf("%d reads of the Job, %d of the Pod", jobs, pods)
			}
		})
	}
}
