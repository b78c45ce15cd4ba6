package jobwatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/jobwatch"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const namespace = "default"

// newJob is a Job of ours that was created just now.
func newJob(name string, change ...func(*batchv1.Job)) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)},
		Spec:       batchv1.JobSpec{ManagedBy: ptr.To(names.JobController)},
	}
	for _, apply := range change {
		apply(job)
	}
	return job
}

var changes = map[string]struct {
	change func(*batchv1.Job)
	isNew  bool
}{
	"new":                       {func(*batchv1.Job) {}, true},
	"another controller's":      {func(j *batchv1.Job) { j.Spec.ManagedBy = ptr.To("example.com/other") }, false},
	"the built-in controller's": {func(j *batchv1.Job) { j.Spec.ManagedBy = nil }, false},
	"suspended":                 {func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) }, false},
	"not suspended":             {func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) }, true},
	"begun":                     {func(j *batchv1.Job) { j.Status.StartTime = ptr.To(metav1.Now()) }, false},
	"resumed": {func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
	}, false},
	"edited": {func(j *batchv1.Job) { j.Generation = 2 }, false},
	"being deleted": {func(j *batchv1.Job) {
		j.DeletionTimestamp, j.Finalizers = ptr.To(metav1.Now()), []string{"example.com/keep"}
	}, false},
	"of a CronJob's run": {func(j *batchv1.Job) {
		j.Annotations = map[string]string{names.ScheduledTimestampAnnotation: "2026-01-02T03:04:00Z"}
	}, false},
	"of a CronJob, by a person":  {func(j *batchv1.Job) { j.Annotations = map[string]string{"cronjob.kubernetes.io/instantiate": "manual"} }, true},
	"with completions that fail": {func(j *batchv1.Job) { j.Status.Failed = 1 }, true},
}

func TestNewJobs(t *testing.T) {
	for name, test := range changes {
		t.Run(name, func(t *testing.T) {
			job := newJob("hello", test.change)
			assert.Equal(t, test.isNew, jobwatch.IsNew(job))
			s := newStage(t, job, newJob("last"))
			s.run()
			if test.isNew {
				s.wants("hello", "last")
			} else {
				s.wants("last")
			}
			seen := s.watch.Job(namespace, job.Name, job.UID)
			require.NotNil(t, seen)
			assert.Equal(t, test.isNew, jobwatch.IsNew(seen), "as the watch tells it")
		})
	}
}

// stage is a cluster with a watch on it.
type stage struct {
	t          *testing.T
	kubernetes *fake.Clientset
	options    jobwatch.Options
	watch      *jobwatch.Watch
	mutex      sync.Mutex
	begun      []string
	started    []string
	fails      error
}

func newStage(t *testing.T, objects ...runtime.Object) *stage {
	s := &stage{t: t, kubernetes: fake.NewClientset(objects...)}
	s.options = jobwatch.Options{
		Kubernetes: s.kubernetes, Shards: 1, Clock: clock.RealClock{},
		Begin: func(_ context.Context, job protocol.ObjectReference, _ bool) (*protocol.JobInput, error) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.begun = append(s.begun, job.Name)
			return &protocol.JobInput{Job: job}, s.fails
		},
		Start: func(_ context.Context, input protocol.JobInput) error {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.started = append(s.started, input.Job.Name)
			return nil
		},
	}
	return s
}

// run watches until the test ends.
func (s *stage) run() {
	ctx, stop := context.WithCancel(s.t.Context())
	var err error
	s.watch, err = jobwatch.New(s.options)
	require.NoError(s.t, err)
	var group sync.WaitGroup
	group.Go(func() { s.watch.Run(ctx) })
	s.t.Cleanup(func() { stop(); group.Wait() })
}

// wants waits until the Jobs that were begun with are these, in the order of their names.
func (s *stage) wants(names ...string) {
	s.t.Helper()
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		assert.Equal(c, names, slices.Sorted(slices.Values(s.begun)))
		assert.Equal(c, names, slices.Sorted(slices.Values(s.started)), "workflows")
	}, 30*time.Second, 5*time.Millisecond)
}

func (s *stage) create(job *batchv1.Job) {
	s.t.Helper()
	_, err := s.kubernetes.BatchV1().Jobs(job.Namespace).Create(s.t.Context(), job, metav1.CreateOptions{})
	require.NoError(s.t, err)
}

func TestNewJobsAreBegunWithOnce(t *testing.T) {
	s := newStage(t, newJob("before"))
	s.run()
	s.wants("before")
	begun := newJob("after")
	s.create(begun)
	s.wants("after", "before")
	// What becomes of a Job then is its workflow's.
	begun.Status.StartTime = ptr.To(metav1.Now())
	_, err := s.kubernetes.BatchV1().Jobs(namespace).UpdateStatus(t.Context(), begun, metav1.UpdateOptions{})
	require.NoError(t, err)
	s.create(newJob("last"))
	s.wants("after", "before", "last")
}

func TestJobsOfOtherShardsAreLeft(t *testing.T) {
	s := newStage(t)
	const shards = 4
	s.options.Shard, s.options.Shards = 1, shards
	var want []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		job := newJob(name)
		if names.InShard(string(job.UID), 1, shards) {
			want = append(want, name)
		}
	}
	require.NotEmpty(t, want)
	s.run()
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		s.create(newJob(name))
	}
	s.wants(want...)
}

func TestAWatchThatIsRefusedIsTriedAgain(t *testing.T) {
	s := newStage(t, newJob("hello"))
	var mutex sync.Mutex
	refused := 0
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) {
		mutex.Lock()
		defer mutex.Unlock()
		refused++
		return refused <= 2, nil, apierrors.NewForbidden(batchv1.Resource("jobs"), "", nil)
	}
	s.kubernetes.PrependReactor("list", "jobs", refuse)
	s.run()
	s.wants("hello")
}

func TestAJobIsKnownAsItWasSeenLast(t *testing.T) {
	for name, namespaces := range map[string][]string{"of all namespaces": nil, "of its namespace": {"other", namespace}} {
		t.Run(name, func(t *testing.T) {
			job := newJob("hello", func(j *batchv1.Job) { j.CreationTimestamp = metav1.NewTime(time.Unix(1000, 0)) })
			s := newStage(t, job)
			s.options.Namespaces = namespaces
			s.run()
			become := func(what string, condition func(*batchv1.Job) bool) {
				t.Helper()
				require.Eventually(t, func() bool {
					seen := s.watch.Job(namespace, job.Name, job.UID)
					return seen != nil && seen.CreationTimestamp.Equal(&job.CreationTimestamp) && condition(seen)
				}, 30*time.Second, time.Millisecond, what)
			}
			become("new", jobwatch.IsNew)
			update := func() {
				t.Helper()
				_, err := s.kubernetes.BatchV1().Jobs(namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
				require.NoError(t, err)
			}
			job.Status.StartTime = ptr.To(metav1.Now())
			update()
			become("begun", func(seen *batchv1.Job) bool { return !jobwatch.IsNew(seen) && claim.Finished(seen) == nil })
			job.Status = batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}}
			update()
			become("suspended", func(seen *batchv1.Job) bool { return seen.Status.StartTime == nil && len(seen.Status.Conditions) == 1 })
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Message: "told to nobody"}}
			update()
			become("finished", func(seen *batchv1.Job) bool { return claim.Finished(seen) != nil && claim.Finished(seen).Message == "" })
			assert.Nil(t, s.watch.Job(namespace, job.Name, "another"), "a Job of another UID")
			assert.Nil(t, s.watch.Job("elsewhere", job.Name, job.UID), "a Job of another namespace")
			require.NoError(t, s.kubernetes.BatchV1().Jobs(namespace).Delete(t.Context(), job.Name, metav1.DeleteOptions{}))
			require.Eventually(t, func() bool { return s.watch.Job(namespace, job.Name, job.UID) == nil }, 30*time.Second, time.Millisecond)
		})
	}
}

// An edited Job gets its workflow from the bridge, which does not know that creates of its first Pods had no answer.
func TestTheWorkflowOfAnEditedJobHearsThatItsFirstPodsMayLand(t *testing.T) {
	for name, test := range map[string]struct {
		late bool
		// fails is how many starts fail.
		fails  int
		starts []string
	}{
		"they may":                                   {true, 0, []string{"hello"}},
		"they may, and Temporal does not answer":     {true, 1, []string{"hello", "hello"}},
		"they have landed, and the bridge tells all": {false, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			job := newJob("hello")
			s := newStage(t, job)
			var starts []string
			begun := make(chan struct{})
			s.options.Begin = func(_ context.Context, begins protocol.ObjectReference, _ bool) (*protocol.JobInput, error) {
				job.Generation = 2
				_, err := s.kubernetes.BatchV1().Jobs(namespace).Update(t.Context(), job, metav1.UpdateOptions{})
				for seen := s.watch.Job(namespace, "hello", job.UID); seen.Generation != 2; seen = s.watch.Job(namespace, "hello", job.UID) {
					time.Sleep(time.Millisecond)
				}
				defer close(begun)
				return &protocol.JobInput{Job: begins, Late: test.late}, err
			}
			s.options.Start = func(_ context.Context, input protocol.JobInput) error {
				s.mutex.Lock()
				defer s.mutex.Unlock()
				starts = append(starts, input.Job.Name)
				if len(starts) <= test.fails {
					return errors.New("Temporal does not answer")
				}
				return nil
			}
			s.run()
			<-begun
			require.Eventually(t, func() bool { return !s.watch.Begins(namespace, "hello", job.UID) }, 30*time.Second, time.Millisecond)
			s.mutex.Lock()
			defer s.mutex.Unlock()
			assert.Equal(t, test.starts, starts)
		})
	}
}
