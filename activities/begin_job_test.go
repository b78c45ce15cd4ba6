package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// newlyMade is a Job that no workflow has begun with.
func newlyMade(change ...func(*batchv1.Job)) *batchv1.Job {
	made := helloJob()
	made.Status = batchv1.JobStatus{}
	parallelJob(1)(made)
	for _, apply := range change {
		apply(made)
	}
	return made
}

func parallelJob(pods int32) func(*batchv1.Job) {
	return func(made *batchv1.Job) { made.Spec.Parallelism, made.Spec.Completions = &pods, &pods }
}

// The Pods are those that the Job's workflow plans first.
func TestTheFirstPodsOfANewJobAreMade(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*batchv1.Job)
		pods   int
	}{
		"one":                  {func(*batchv1.Job) {}, 1},
		"as many as run":       {parallelJob(3), 3},
		"ten at most":          {parallelJob(40), 10},
		"of an Indexed Job":    {func(j *batchv1.Job) { j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion); parallelJob(2)(j) }, 2},
		"none where none runs": {func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](0) }, 0},
		"none of one that nobody could select": {func(j *batchv1.Job) {
			j.Spec.Template.Labels = nil
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			made := newlyMade(test.change)
			s := newStage(t, []runtime.Object{made}, nil)
			s.activities.BeginJob(t.Context(), jobRef)
			require.Equal(t, test.pods, len(s.pods()))
			for _, pod := range s.pods() {
				assert.True(t, metav1.IsControlledBy(&pod, made), pod.Name)
			}
			// Somebody who sees the Job once more makes no others.
			s.activities.BeginJob(t.Context(), jobRef)
			assert.Equal(t, test.pods, len(s.pods()))
		})
	}
}

// The Job is read first: since it was seen, a workflow may have begun with it, ended its Pods and removed them.
func TestAJobThatIsNewNoMoreGetsNoFirstPods(t *testing.T) {
	for name, became := range map[string]func(*batchv1.Job){
		"it has begun":     func(j *batchv1.Job) { j.Status.StartTime = ptr.To(metav1.Now()) },
		"it is suspended":  func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) },
		"it is another":    func(j *batchv1.Job) { j.UID = "another" },
		"it wants no Pods": func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{newlyMade(became)}, nil)
			s.activities.BeginJob(t.Context(), jobRef)
			assert.Empty(t, s.pods())
		})
	}
}

// What is refused is the workflow's to say, once.
func TestFirstPodsThatAreRefusedAreLeftToTheWorkflow(t *testing.T) {
	made := newlyMade()
	s := newStage(t, []runtime.Object{made}, nil)
	s.refuse("create", "pods", 1, apierrors.NewForbidden(corev1.Resource("pods"), "", nil))
	s.activities.BeginJob(t.Context(), jobRef)
	assert.Empty(t, s.pods())
	assert.NotContains(t, strings.Join(s.recorded(), "\n"), "FailedCreate")
}

// An admission webhook that does not answer keeps nobody from the next Job.
func TestANewJobIsGivenUpAfterASecond(t *testing.T) {
	made := newlyMade()
	s := newStage(t, []runtime.Object{made}, nil)
	api := slowServer{s.kubernetes, make(chan struct{}, 1), make(chan struct{})}
	s.options.Kubernetes = api
	began := time.Now()
	activities.New(s.options).BeginJob(t.Context(), jobRef)
	assert.Less(t, time.Since(began), 10*time.Second)
	close(api.may)
}

// The first plan of the workflow finds the Pods by reads from the watch cache, and hears how those ended that have.
func TestTheFirstPlanFindsThePodsThatAreMade(t *testing.T) {
	for name, test := range map[string]struct {
		become func(*corev1.Pod)
		want   func(pod *corev1.Pod) job.CreatedPod
	}{
		"one runs": {func(*corev1.Pod) {}, func(pod *corev1.Pod) job.CreatedPod {
			return job.CreatedPod{Name: pod.Name, UID: string(pod.UID)}
		}},
		"one has ended": {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, func(pod *corev1.Pod) job.CreatedPod {
			return job.CreatedPod{Name: pod.Name, UID: string(pod.UID), Ended: &job.PodFact{
				Name: pod.Name, UID: string(pod.UID), Phase: corev1.PodSucceeded, Tracked: true, Attempt: 1,
			}}
		}},
		"one has ended and was released": {func(pod *corev1.Pod) { pod.Status.Phase, pod.Finalizers = corev1.PodSucceeded, nil }, func(pod *corev1.Pod) job.CreatedPod {
			return job.CreatedPod{Name: pod.Name, UID: string(pod.UID), Released: true}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			made := newlyMade()
			s := newStage(t, []runtime.Object{made}, nil)
			s.activities.BeginJob(t.Context(), jobRef)
			pod := s.pods()[0].DeepCopy()
			test.become(pod)
			_, err := s.kubernetes.CoreV1().Pods(namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
			require.NoError(t, err)
			s.kubernetes.ClearActions()
			status := &batchv1.JobStatus{Active: 1, StartTime: ptr.To(metav1.Now())}
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1), Status: status})
			require.Len(t, result.Created, 1)
			got, want := result.Created[0], test.want(pod)
			if got.Ended != nil {
				got.Ended.Finished, got.Ended.Version, got.Ended.Started = time.Time{}, 0, time.Time{}
			}
			assert.Equal(t, want, got)
			for _, action := range s.kubernetes.Actions() {
				assert.False(t, action.Matches("create", "pods"), "a Pod that is there is asked for")
			}
			assert.Equal(t, names.Pod(jobName, jobUID, 1), pod.Name)
		})
	}
}
